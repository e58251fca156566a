#!/usr/bin/env node
// Runs the program of this name from the package of this platform, which npm installed beside this one.
"use strict";
const { spawnSync } = require("node:child_process");
const path = require("node:path");

const platforms = PLATFORMS;
const program = path.basename(__filename, ".js");
const name = platforms[`${process.platform}-${process.arch}`];

function fail(message) {
  process.stderr.write(`${program}: ${message}\n`);
  process.exit(1);
}

if (!name) fail(`there are no programs for ${process.platform}-${process.arch}`);
let folder;
try {
  folder = path.dirname(require.resolve(`${name}/package.json`));
} catch {
  fail(`the package ${name} is missing: install again without --omit=optional`);
}
const run = spawnSync(path.join(folder, "bin", program), process.argv.slice(2), { stdio: "inherit" });
if (run.error) fail(run.error.message);
if (run.signal) process.kill(process.pid, run.signal);
process.exitCode = run.status ?? 1;
