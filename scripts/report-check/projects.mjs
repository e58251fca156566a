// Made-up projects: memory files, transcripts and receipts as Throughline finds them, in a home of their own.
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const NOW = Date.parse("2026-10-02T09:30:00Z");
const DAY = 86_400_000;
const KINDS = ["decision", "convention", "preference", "fact", "procedure", "command", "gotcha", "fix", "failed-approach", "task"];
const FILES = [
  "src/price.rs", "src/invoice/lines.rs", "src/invoice/total.rs", "src/archive/import.rs", "src/archive/reader.rs",
  "src/tide/table.rs", "src/tide/gauge.rs", "src/harbour/berths.rs", "src/harbour/pilots.rs", "src/main.rs",
  "tests/import.rs", "docs/format.md", "migrations/0007_gauges.sql", "scripts/deploy", "Cargo.toml",
];
const SUBJECTS = ["Amounts", "The import", "Tide gauges", "Berths", "Invoices", "The archive reader", "Migrations", "The deploy script"];
const STATEMENTS = [
  "stay integer cents everywhere", "runs in one transaction, since half an import is worse than none",
  "are numbered from the north pier", "report in millimetres above chart datum", "need a trailing newline",
  "is read in windows of 64 KiB", "take a lock for at most a second", "must not be edited once they are released",
  "wait for the pilot's word", "fail loudly when a gauge is silent for an hour",
];

// Texts that would run something if a page took them for anything but text.
export const HOSTILE = [
  "<script>owned=1</script>", "</script><script>owned=1</script>", "<img src=x onerror=owned=1>",
  "<svg onload=owned=1>", "<svg><animate onbegin=owned=1 attributeName=x dur=1s>", "\"><script>owned=1</script>",
  "' onmouseover='owned=1", "\" autofocus onfocus=\"owned=1", "<iframe srcdoc=\"<script>parent.owned=1</script>\">",
  "<iframe src=javascript:parent.owned=1>", "<a href=javascript:alert(1)>open</a>", "javascript:alert(1)",
  "<body onload=owned=1>", "<!--<script>owned=1</script>", "--><script>owned=1</script>",
  "]]><script>owned=1</script>", "</title><script>owned=1</script>", "</style><script>owned=1</script>",
  "</textarea><script>owned=1</script>", "<style>@import 'http://127.0.0.1:9/x.css';</style>",
  "<link rel=stylesheet href=http://127.0.0.1:9/x.css>", "<meta http-equiv=refresh content='0;url=http://127.0.0.1:9/'>",
  "<base href=http://127.0.0.1:9/>", "<object data=http://127.0.0.1:9/x.swf>", "<video><source onerror=owned=1>",
  "<details open ontoggle=owned=1>", "<input onfocus=owned=1 autofocus>", "&lt;script&gt;owned=1&lt;/script&gt;",
  "${owned=1}{{constructor.constructor('owned=1')()}}", "\\u003cscript\\u003eowned=1 \u2028owned=1\u2029 __proto__",
];

// The same numbers every time.
function random(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const lines = (file, from) => Array.from({ length: 40 }, (_, at) => `let ${file.replace(/\W/g, "_")}_${from + at} = ${from + at};\n`).join("");
const id = (number) => `01k6ar${String(number).padStart(20, "0")}`;
const iso = (at) => new Date(at).toISOString().replace(".000Z", "Z");
const session = (number) => `${String(number).padStart(8, "0")}-1111-4111-8111-111111111111`;

function memory({ number, kind, title, body, at, paths = [], tags = [], from, relations = [] }) {
  const quoted = JSON.stringify;
  const lines = [`id: ${id(number)}`, `kind: ${kind}`, `created: ${iso(at)}`];
  if (paths.length) lines.push(`paths: [${paths.map((path) => `{path: ${quoted(path)}}`).join(", ")}]`);
  if (tags.length) lines.push(`tags: [${tags.map(quoted).join(", ")}]`);
  if (from) lines.push(`source: {session: ${quoted(from)}}`);
  if (relations.length) lines.push(`relations: [${relations.map((to) => `{kind: contradicts, to: ${id(to)}}`).join(", ")}]`);
  return `---\n${lines.join("\n")}\n---\n\n# ${title}\n\n${body}\n`;
}

function transcript(work, number, at, files, wish) {
  const name = session(number);
  const user = (content) => ({ type: "user", message: { role: "user", content } });
  const assistant = (block) => ({ type: "assistant", message: { role: "assistant", model: "claude", content: [block] } });
  const steps = [user(wish)];
  files.forEach((file, call) => {
    const use = { type: "tool_use", id: `t${call}`, name: "Edit", input: { file_path: join(work, file), old_string: "a", new_string: "b" } };
    steps.push(assistant(use), user([{ type: "tool_result", tool_use_id: `t${call}`, content: "The file has been updated.", is_error: false }]));
  });
  steps.push(assistant({ type: "text", text: "Done: all tests pass." }));
  let parent = null;
  return steps.map((step, at_step) => {
    const uuid = `${name}-${at_step}`;
    const line = { ...step, uuid, parentUuid: parent, sessionId: name, cwd: work, timestamp: new Date(at + at_step * 60_000).toISOString(), version: "2.1.330", gitBranch: "main", isSidechain: false, userType: "external" };
    parent = uuid;
    return JSON.stringify(line);
  }).join("\n") + "\n";
}

/** A project in a home of its own. */
export class Project {
  constructor(folder, program) {
    this.home = folder;
    this.program = program;
    this.work = join(folder, "tidelog");
    // Without git, which would be asked for the past of files.
    mkdirSync(this.work, { recursive: true });
    for (const file of FILES) this.write(join(this.work, file), lines(file, 0));
  }

  write(path, text) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }

  run(...args) {
    const env = { HOME: this.home, PATH: "/usr/bin:/bin", THROUGHLINE: "full", THROUGHLINE_NOW: "2026-10-02T09:30:00Z", TZ: "UTC", OLLAMA_HOST: "127.0.0.1:9" };
    return execFileSync(this.program, args, { cwd: this.work, env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], maxBuffer: 2 ** 28 });
  }

  memories(list) {
    for (const one of list) this.write(join(this.work, ".throughline/memories", `made-up-${one.number}.md`), memory(one));
  }

  /** So many memories, learned over a year, most of them about files and from sessions. */
  made(count, sessions) {
    const below = random(7);
    return Array.from({ length: count }, (_, number) => {
      const paths = Array.from({ length: below(3) }, () => FILES[Math.min(below(FILES.length), below(FILES.length))]);
      const title = `${SUBJECTS[below(SUBJECTS.length)]} ${STATEMENTS[below(STATEMENTS.length)]}`;
      return {
        number: number + 1, kind: KINDS[Math.min(below(KINDS.length), below(KINDS.length))], title: count > 200 ? `${title} (${number})` : title,
        body: `${title}. It was found while the import of June was slow, and it was agreed to keep it so until the gauges are replaced.\n\nSee the note of the harbour master, and ask before it is changed.`,
        at: NOW - below(number % 5 ? 120 : 500) * DAY - below(DAY), paths: [...new Set(paths)], tags: [["money", "import", "harbour", "tide"][below(4)]],
        from: sessions && below(3) ? session(below(sessions) + 1) : undefined,
      };
    });
  }

  transcripts(count) {
    const below = random(11);
    const wishes = ["Please fix the rounding of invoice totals", "Why is the import of June so slow?", "Number the berths from the north pier", "Add a test for silent gauges", "Prepare the release of the tide table"];
    for (let number = 1; number <= count; number += 1) {
      const files = Array.from({ length: 1 + below(4) }, () => FILES[Math.min(below(FILES.length), below(FILES.length))]);
      const at = NOW - below(150) * DAY - DAY;
      const path = join(this.home, ".claude/projects", this.work.replaceAll("/", "-"), `${session(number)}.jsonl`);
      this.write(path, transcript(this.work, number, at, files, wishes[number % wishes.length]));
    }
  }

  receipts(count, memories, sessions) {
    const below = random(13);
    const trees = join(this.home, ".local/state/throughline/trees");
    const folder = join(trees, readdirSync(trees)[0], "receipts");
    const days = new Map();
    for (let number = 0; number < count; number += 1) {
      const at = NOW - below(80) * DAY - below(DAY);
      const given = Array.from({ length: 1 + below(3) }, () => ({ id: id(1 + Math.min(below(memories), below(memories))), why: "words", score: 0.5 }));
      const event = ["SessionStart", "UserPromptSubmit", "UserPromptSubmit", "PostToolUse"][below(4)];
      const line = { at: iso(at), event, session: session(1 + below(sessions)), memories: given, tokens: 40 + below(400), micros: Math.round(600 * Math.exp(below(300) / 100)) };
      const day = line.at.slice(0, 10);
      days.set(day, [...(days.get(day) ?? []), line]);
    }
    for (const [day, lines] of days) {
      lines.sort((one, other) => (one.at < other.at ? -1 : 1));
      this.write(join(folder, `${day}.jsonl`), lines.map((line) => JSON.stringify(line)).join("\n") + "\n");
    }
  }

  report(file) {
    rmSync(file, { force: true });
    this.run("report", "--out", file);
    return file;
  }
}

/** A project of a few months, with what goes wrong in one. */
export function everyday(folder, program) {
  const project = new Project(folder, program);
  project.transcripts(24);
  project.run("init", "--yes", "--no-register");
  const made = project.made(90, 24);
  made[3].relations = [5];
  made[10].relations = [13];
  project.memories(made);
  project.run("trust", "--yes");
  project.run("add", "The deploy script asks for the tide before it starts", "--kind", "gotcha", "--path", "scripts/deploy");
  project.run("sync");
  project.write(join(project.work, "scripts/deploy"), lines("scripts/deploy", 100));
  rmSync(join(project.work, "docs/format.md"));
  project.run("add", "The harbour list is fetched at noon");
  project.receipts(260, 90, 24);
  project.run("sync");
  return project;
}

/** One with memories that try to run something: in titles, texts, paths, tags and sessions. */
export function hostile(folder, program) {
  const project = new Project(folder, program);
  project.transcripts(3);
  project.run("init", "--yes", "--no-register");
  project.memories(HOSTILE.map((text, at) => ({
    number: at + 1, kind: KINDS[at % KINDS.length], title: `Title ${text}`, body: `Body ${text}`, at: NOW - at * DAY,
    paths: [text, FILES[at % 5]], tags: [text], from: session(at % 3 + 1), relations: [(at + 1) % HOSTILE.length + 1],
  })));
  project.receipts(40, HOSTILE.length, 3);
  project.run("sync");
  return project;
}

/** One with 10,000 memories. */
export function large(folder, program) {
  const project = new Project(folder, program);
  project.transcripts(24);
  project.run("init", "--yes", "--no-register");
  project.memories(project.made(10_000, 24));
  project.receipts(2_000, 10_000, 24);
  return project;
}
