//! `throughline-user-prompt-submit`: UserPromptSubmit.
#![no_main]

hooks::hook_program!(hooks::prompt::answer);
