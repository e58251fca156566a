//! `throughline-session-start`: SessionStart.
#![no_main]

hooks::hook_program!(hooks::start::answer);
