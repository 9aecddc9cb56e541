"""on_terminal.py STREAMS TYPED COMMAND...: runs the command with a new terminal as those of its standard streams that
STREAMS names ("02": input and error), types TYPED (with \\n for Enter, \\x04 for the end of the input) once the terminal
shows something, and prints all that it showed. Other streams stay as they are. The exit code is the command's, or 128 + the signal's number."""
import os
import pty
import sys

streams, command = sys.argv[1], sys.argv[3:]
typed = sys.argv[2].encode().decode("unicode_escape").encode()
ours, theirs = pty.openpty()
inputs = {int(digit) for digit in streams}
pid = os.fork()
if pid == 0:
    os.setsid()
    os.close(os.open(os.ttyname(theirs), os.O_RDWR))  # the controlling terminal of the new session
    for stream in inputs:
        os.dup2(theirs, stream)
    os.close(ours)
    os.close(theirs)
    os.execvp(command[0], command)
os.close(theirs)
shown = b""
while True:
    try:
        more = os.read(ours, 65536)
    except OSError:  # the end of a terminal
        break
    if not more:
        break
    if not shown and typed:
        os.write(ours, typed)
    shown += more
status = os.waitpid(pid, 0)[1]
sys.stdout.buffer.write(shown.replace(b"\r\n", b"\n"))
sys.exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))
