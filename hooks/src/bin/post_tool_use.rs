//! `throughline-post-tool-use`: PostToolUse and PostToolUseFailure.
#![no_main]

hooks::hook_program!(hooks::tool::answer);
