//! `throughline-pre-tool-use`: PreToolUse.
#![no_main]

hooks::hook_program!(hooks::before_tool::answer);
