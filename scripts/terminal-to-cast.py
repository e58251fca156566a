"""Records commands at a terminal as an asciicast (version 2), which asciinema plays.

usage: scripts/terminal-to-cast.py COLUMNS ROWS FOLDER [TEXT=OTHER ...] <SCRIPT >CAST

The script is a JSON list of steps. Each step is a list: the command line as it is shown, then pairs of a text that has to
be printed and the keys that are typed after it; an empty text is any. Each TEXT is shown as OTHER, so that no folder of the machine is in
the recording. Times are made up, so that a recording changes only where the programs do. Only the standard library is
needed.
"""

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time

if {"-h", "--help"} & set(sys.argv[1:]):
    print(__doc__.strip())
    sys.exit()

PROMPT = "\x1b[32m~/tidelog\x1b[0m $ "
# Seconds of the recording.
PER_KEY, AFTER_OUTPUT, AFTER_ANSWER = 0.06, 2.5, 1.2
# Seconds of the clock: for a text to appear, and without output until a screen is complete.
PATIENCE, QUIET = 60, 0.4


class Recording:
    def __init__(self, columns, rows, replaced):
        self.replaced, self.at = replaced, 0.0
        self.lines = [json.dumps({"version": 2, "width": columns, "height": rows, "title": "A first session with Throughline"})]

    def show(self, text, seconds):
        for text_of_machine, other in self.replaced:
            text = text.replace(text_of_machine, other)
        if text:
            self.lines.append(json.dumps([round(self.at, 2), "o", text], ensure_ascii=False))
        self.at += seconds

    def type(self, text):
        for key in text:
            self.show(key, PER_KEY)


def plain(text):
    return re.sub("\x1b\\[[0-9;?]*[a-zA-Z]", "", text)


class Terminal:
    """A command at a terminal of its own."""

    def __init__(self, line, columns, rows, folder):
        self.line = line
        controller, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process = subprocess.Popen(
            ["sh", "-c", line], stdin=terminal, stdout=terminal, stderr=terminal, cwd=folder, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(terminal)
        self.controller = controller

    def read(self, word=None):
        """Returns what is printed until `word` is there and the screen is complete, or until the command has ended."""
        output, deadline = b"", time.monotonic() + PATIENCE
        while True:
            ready, _, _ = select.select([self.controller], [], [], QUIET)
            if ready:
                try:
                    part = os.read(self.controller, 65536)
                except OSError:
                    part = b""
                if not part:
                    break
                output += part
                # A command may ask where the cursor is.
                if b"\x1b[6n" in part:
                    os.write(self.controller, b"\x1b[1;1R")
                continue
            if word is not None and output and word in plain(output.decode(errors="replace")):
                return output.decode(errors="replace")
            if time.monotonic() > deadline:
                self.fail(f"does not {'show ' + repr(word) if word else 'end'}", output)
        if word is not None and word not in plain(output.decode(errors="replace")):
            self.fail(f"ended before it showed {word!r}", output)
        return output.decode(errors="replace")

    def fail(self, why, output):
        self.process.kill()
        sys.exit(f"terminal-to-cast.py: `{self.line}` {why}:\n{output.decode(errors='replace')}")


def main():
    columns, rows, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    recording = Recording(columns, rows, [pair.split("=", 1) for pair in sys.argv[4:]])
    for line, *answers in json.load(sys.stdin):
        recording.show(PROMPT, 0.8)
        recording.type(line)
        recording.show("\r\n", 0.3)
        terminal = Terminal(line, columns, rows, folder)
        for word, keys in answers:
            recording.show(terminal.read(word), AFTER_ANSWER)
            os.write(terminal.controller, keys.encode())
        recording.show(terminal.read(), AFTER_OUTPUT)
        if terminal.process.wait() != 0:
            sys.exit(f"terminal-to-cast.py: `{line}` ended with {terminal.process.returncode}")
    recording.show(PROMPT, 0)
    print("\n".join(recording.lines))


main()
