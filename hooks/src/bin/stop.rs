//! `throughline-stop`: Stop, SubagentStop, PreCompact and SessionEnd.
#![no_main]

hooks::hook_program!(hooks::turn_end::take_note);
