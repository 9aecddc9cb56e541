# Tests keys of the type locale: the order of the locale in every format, as sort and strcoll define it, for sorts,
# checks, tasks and resumed jobs. Also tests locales that the system does not have.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort
export LOCPATH=$work
for name in en_US sv_SE; do
  if ! localedef -i $name -f UTF-8 ./$name.UTF-8 2>/dev/null; then
    echo "SKIPPED: no locale can be made here (package locales)"
    exit 77
  fi
done
printf '%s\n' b A a B _c c ä Ä z zz Z å ö o v w va wa Wb VB é e E É resume résumé Resume co-op coop COOP 'a b' ab 10 9 ø >words
awk 'BEGIN { for (i = 0; i < 3000; ++i) printf "w%s%s\n", i % 2 ? "Ord" : "örd", i * 7919 % 3000 }' >>words
en_US() { LC_ALL=en_US.UTF-8 "$@"; }
en_US sort words >want.en
LC_ALL=sv_SE.UTF-8 sort words >want.sv
LC_ALL=C sort words >want.c
! cmp -s want.en want.sv && ! cmp -s want.en want.c || fail "the locales order alike"

# The order of the locale with every format. format NAME HEAD FOOT PREFIX SUFFIX KEY: the only column of the rows is
# `words`.
format() {
  local name=$1 head=$2 foot=$3 prefix=$4 suffix=$5 key=$6 of
  for of in words want.en want.sv want.c; do
    { printf "$head"; sed "s/.*/$prefix&$suffix/" $of; printf "$foot"; } >$of.$name
  done
  for lang in en_US.UTF-8:en sv_SE.UTF-8:sv C:c; do
    of=want.${lang#*:}.$name
    export LC_ALL=${lang%:*}
    expect 0 "$g" --format $name -k "$key:locale" words.$name got
    same got $of
    [ $name = pgdump ] || expect 0 "$g" --format $name -k "$key:locale" --check $of
    expect 0 "$bin/gpusort_check" --format $name -k "$key:locale" --stable --against words.$name $of >report
  done
  export LC_ALL=en_US.UTF-8
  [ $name = pgdump ] || expect 1 "$g" --format $name -k "$key:locale" --check want.sv.$name
  expect 1 "$bin/gpusort_check" --format $name -k "$key:locale" want.c.$name >report
}
format csv 'n\n' '' '' '' n
format tsv 'n\tm\n' '' '' '\tx' n
format jsonl '' '' '{"n":"' '"}' n
format pgcopy '' '' '' '' '#1'
format pgcopy-csv '' '' '' '' '#1'
format mysql '' '' '' '' '#1'
format pgdump 'COPY t (n) FROM stdin;\n' '\\.\n' '' '' t.n
# Other variables that name the locale; equal keys; several keys; standard input.
for name in LC_COLLATE LANG; do
  expect 0 env -u LC_ALL $name=sv_SE.UTF-8 "$g" -k n:locale --format csv -o got - <words.csv
  same got want.sv.csv
done
{ echo n,i; awk '{ print $0 "," NR % 5 }' words; } >two.csv
{ echo n,i; awk '{ print $0 "," NR % 5 }' words | LC_ALL=en_US.UTF-8 sort -t, -s -k2,2n -k1,1r; } >want
en_US expect 0 "$g" -k i:int -k n:locale:desc two.csv got
same got want

# The folder of a distributed or resumable job stores the locale.
export LC_ALL=sv_SE.UTF-8
task=$bin/gpusort_task
expect 0 "$task" runs --slice 0/2 --into dir -k n:locale words.csv
LC_ALL=C expect 2 "$task" runs --slice 1/2 --into dir -k n:locale words.csv
says "another .*version or locale"
expect 0 "$task" runs --slice 1/2 --into dir -k n:locale words.csv
LC_ALL=en_US.UTF-8 expect 2 "$task" cut --parts 2 dir
says "version or locale (.*locale .*sv_SE.UTF-8, glibc .*) is there"
expect 0 "$task" cut --parts 2 dir
for j in 0 1; do expect 0 "$task" part --part $j/2 dir by_task.csv; done
expect 0 "$task" prove --parts 2 dir by_task.csv
same by_task.csv want.sv.csv
awk 'BEGIN { print "n"; for (i = 0; i < 200000; ++i) printf "w%s%s\n", i % 2 ? "Ord" : "Ã¶rd", i * 7919 % 200000 }' >many.csv
{ echo n; tail -n +2 many.csv | sort; } >want
spills=(--memory 4M --device cpu --resume-dir kept -k n:locale many.csv many.out)
(ulimit -f 4000; expect 5 "$g" "${spills[@]}")
LC_ALL=en_US.UTF-8 expect 2 "$g" "${spills[@]}"
says "it holds another job: the locale was 'sv_SE.UTF-8, glibc [0-9.]*', and is now 'en_US.UTF-8, glibc"
expect 0 "$g" "${spills[@]}"
same many.out want

# With a missing locale nothing is sorted by bytes instead. Jobs without such a key do not need the locale.
for words in "LC_ALL=xx_XX.UTF-8" "LC_COLLATE=xx_XX.UTF-8" "LANG=xx_XX.UTF-8"; do
  rm -f new
  for command in "$g -k n:locale words.csv new" "$g --check -k n:locale words.csv" "$g --explain -k n:locale words.csv new" \
    "$task runs --slice 0/1 --into none -k n:locale words.csv"; do
    expect 2 env -u LC_ALL $words $command
    says "-k n:locale: this system does not have the locale of $words (locale -a lists those that it has); LC_ALL=C"
  done
  expect 2 env -u LC_ALL $words "$g" --locale --format lines words new
  says "--locale: this system does not have the locale of $words"
  expect 2 env -u LC_ALL $words "$bin/gpusort_check" --format csv -k n:locale words.csv
  says "this system does not have the locale of ${words%=*}='xx_XX.UTF-8'\$"
  [ ! -e new ] && [ ! -e none ] || fail "an output in a locale that is not here"
done
expect 0 env LC_ALL=xx_XX.UTF-8 "$g" -k n words.csv got
same got want.c.csv
echo "locale: ok"
