// Sorts files into one output by gpusort, in a workflow of Nextflow:
//
//   include { GPUSORT } from '/path/of/this/folder/main.nf'
//   workflow { GPUSORT(Channel.of([files('month/*.csv'), 'sorted.csv', ['created_at:timestamp:desc']])) }
//
// A tuple has the inputs, the name of the output and the keys. task.ext.args has further options. The memory of the job
// is that of the task less an eighth, at most 1 GiB, for the program itself and the driver of GPUs. With the directive
// `accelerator`, gpusort may use the GPUs that the task sees, otherwise it uses the CPU.
process GPUSORT {
    tag "${output}"
    label 'process_medium'

    input:
    tuple path(inputs), val(output), val(keys)

    output:
    path "${output}", emit: sorted
    path 'gpusort.json', emit: stats

    script:
    def quoted = { word -> "'" + word.toString().replace("'", "'\\''") + "'" }
    def options = keys.collect { '--key ' + quoted(it) }
    if (task.memory) {
        def bytes = task.memory.toBytes()
        options << "--memory ${bytes - Math.min(1L << 30, bytes.intdiv(8))}"
    }
    options << "--device ${task.accelerator ? 'auto' : 'cpu'}"
    def names = (inputs instanceof List ? inputs : [inputs]).collect(quoted)
    """
    gpusort --threads ${task.cpus} ${options.join(' ')} ${task.ext.args ?: ''} --temp-dir . --stats gpusort.json \\
        --output ${quoted(output)} -- ${names.join(' ')}
    """

    stub:
    """
    touch '${output}' gpusort.json
    """
}
