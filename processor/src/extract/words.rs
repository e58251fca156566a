//! Patterns that classify a sentence by its words, for example as narration, status, wish or cause. They consist of
//! general English words for work on code and do not depend on a project.

use std::sync::LazyLock;

use super::pattern::{Pattern, pattern};

macro_rules! patterns {
    ($($(#[$doc:meta])* $name:ident = $text:expr;)*) => {
        $($(#[$doc])* pub static $name: LazyLock<Pattern> = LazyLock::new(|| pattern($text));)*

        /// All patterns of this file, for the test that compares their forms.
        #[cfg(test)]
        pub(super) static PATTERNS: &[&LazyLock<Pattern>] = &[$(&$name),*];
    };
}

patterns! {
    /// The assistant announces its next action.
    NARRATION = r"(?ix)^(?:(?:and|but|so|ok(?:ay)?|good|great|now|then|next|first|finally|perfect|also)[,.!—\s-]+)*
        (?:let\ me|let(?:'|’)s|i(?:'|’)ll|i\ will|i(?:'|’)m\ (?:going\ to|now)|i\ am\ going\ to|i\ need\ to|i\ should|i\ want\ to|i\ can\ (?:now\ )?see|i\ see\b|
        i\ (?:now\ )?have\ (?:a|all|everything|enough|the)\b|i\ understand|now\ (?:i|let|update|add|run|create|fix|the\ |also|verify|check|implement|make|replace|remove|that\ i)|
        next,?\ (?:i|update|add)|time\ to|going\ to|looking\ at|checking|reading|running|starting|moving\ on|proceeding|
        step\ [0-9]|(?:update|updating|verify|verifying)\ (?:the|all|it|that)\b.{0,40}$|we\ need\ to\ (?:check|look|see|find)|
        want\ me\ to|would\ you\ like|shall\ i|should\ i|do\ you\ want|ready\ (?:to|for)|here(?:'|’)s|here\ (?:is|are)|there\ (?:we|you)\ go|
        (?:the\ )?(?:agent|exploration|search)\ (?:has|have|is|shows|returned|found))\b";
    /// Words that introduce a list and have no content of their own.
    ANNOUNCES = r"(?i)\b(?:summary|summari[sz]e[sd]?|overview|here(?:'|’)s|here (?:is|are)|what (?:i|was|has|changed)|(?:changes?|updates?|fix(?:es)?|edits?) (?:made|implemented|applied|include|are)|following|as follows|(?:both|these|the|two|three|four|few|several|all) (?:issues?|changes?|things|edits|tasks|steps|options)|breakdown|verification|(?:need|want) to|files? (?:changed|modified))\b[^:]*:$";
    /// Words for habits and conventions of a project.
    HABIT = r"(?i)\b(?:convention|we (?:use|always|never|only|keep|write|name|put|follow|don't|do not)|in this (?:repo|repository|project|codebase)|here we|our (?:style|convention|rule|policy|process|naming|code ?base|team)|code style|naming convention|commit messages? (?:are|must|should|start)|branch(?:es)? (?:are|must|should)|tests? (?:must|should|go|live)|house rule|every (?:commit|pr|pull request|change|test|file|migration)|before (?:committing|pushing|merging|a release)|after (?:every|each) change)\b";
    /// Words for a failure.
    FAILS = r"(?i)\b(?:fail(?:s|ed|ing|ure)?|missing|invalid|cannot|can't|can’t|unable|error|exception|crash(?:es|ed)?|broken|undefined|refused|denied|timed? ?out|not found|unsupported|unrecogni[sz]ed|rejected|conflict|panick?(?:s|ed)?|corrupt(?:ed)?|illegal)\b";
    /// A sentence that requests a task instead of stating a rule.
    REQUEST = r"(?i)^(?:(?:at|in|on|for|from|under|above|below|near|inside) [^,.]{3,60}, )?(?:\W*(?:ok(?:ay)?|now|then|and|also|so|next|please|first|again|great|good)[,.!\s]+)*(?:(?:i think )?(?:we|you|i) (?:should|must|musr|need to|have to|can|could|want to|would like to|want you to|'d like (?:you )?to)(?: (?:also|now|then|probably|maybe|just))*|i(?:'d| would) like (?:you )?to|can you|could you|please|let's|let us)?\s*(?:now |also )*(?:add|implement|create|build|write|update|fix|change|refactor|migrate|remove|delete|rename|move|find|check|review|investigate|look|explain|show me|improve|redesign|extend|replace|highlight|set up|setup|generate|test|run|commit|push|tag|release|bump|document|port|convert|split|extract|clean|rewrite|rework|try|continue|analy[sz]e|debug|plan|suggest|research|read|open|start|integrate|support|introduce|prepare|finish|complete|(?:take|drop|undo|revert|restore|swap|hide|copy|install|upgrade|simplify|shorten) (?:the|this|that|these|those|it|them|my|our|all|both))\b";
    /// Output that reports a wrongly used command.
    USAGE = r"(?i)(?:unrecogni[sz]ed|unknown|illegal|invalid|unexpected|unsupported|ambiguous) (?:sub ?command|command|option|argument|flag|skill|switch|parameter)|command not found|no such (?:file|command|option|subcommand)|not a (?:valid|known)|is not recognized|usage:|missing (?:script|required|argument)|script not found|not found: |can't open|does not exist|must be run|requires? (?:an? )?(?:argument|value)|no tests? (?:found|collected|files?)|did not match any|not a git repository|no module named|pathspec";
    /// A command that changes something.
    CHANGES = r"(?i)(?:\b(?:install|add|remove|rm|mv|cp|mkdir|touch|chmod|chown|ln|kill|pkill|restart|start|stop|up|down|reset|checkout|restore|stash|clean|clear|prune|migrate|generate|sync|update|upgrade|rebuild|build|fix|format|fmt|write|init|config|set|export|unset|login|fetch|pull|rebase|apply|patch|sed -i|tee)\b|--fix|--write|--force|-f\b)";
    /// Parts of an error message that occur with any failure.
    GENERIC_ERROR = r"(?i)^\s*[$>] |^\s*(?:i|ℹ|note:|help:|hint:) |^\W*[0-9]+(?:\s|\||│)|some (?:errors|warnings) were emitted|exit(?:ed)? (?:with )?(?:code|status)|command failed|elifecycle|^npm err! (?:code|errno|path|command)|^error: (?:process|script|recipe)|^make(?:\[[0-9]+\])?: \*\*\*|^(?:found|checked) [0-9]+|^[0-9]+ (?:errors?|failed|failures?)\b|^error$|^string:|^failed$";
    /// Heading of the first column of a table about the work of a session.
    CHORE_TABLE = r"(?i)^\W*(?:files?|step|task|change|check|test|command|#|status|phase)s?\W*$";
    /// Errors of Claude Code's own tools, which occur in every project.
    TOOL_HABIT = r"(?i)has not been read yet|modified since read|unexpectedly modified|read it (?:again|first)|no changes to make|exceeds maximum allowed (?:tokens|size)|user (?:doesn't want|rejected)|cancelled|file does not exist|eisdir|is a directory|(?:request|operation|command) timed out|blocked by hook|permission to use";
    /// A shell tool did not find a file, probably because of a typing error.
    MISTYPED = r"(?i)^(?:/\S*/)?(?:rm|cp|mv|ls|cat|cd|mkdir|rmdir|touch|find|grep|sed|head|tail|stat|wc|chmod|ln|bash|sh|zsh): .*(?:no such file or directory|not a directory|file exists|cannot (?:remove|stat|access|open))";
    /// A command that stores the output of another command in a variable.
    ASSIGNS = r"^\s*[A-Za-z_]\w*=\$\(";
    /// Parts of a command line that only change its output.
    OUTPUT_ONLY = r"\s*(?:2>&1|2>\s*/dev/null|\|\s*(?:tail|head)(?:\s+-n?\s*[0-9]+|\s+-[0-9]+)?|\|\|\s*true)\s*";
    /// A line that a tool marks as an error.
    MARKED_ERROR = r"^\s*(?:×|✖|✗|✘|❌|E {2,})\s*(\S.*\S)\s*$";
    /// Introductory words before the actual message.
    LEAD_IN = r"(?i)^(?:(?:ok(?:ay)?|yes|yep|no|nope|great|good|perfect|thanks|fine|now|so|and|also|but|wait|commit(?: (?:this|it|that))?|push(?: (?:this|it|that))?)\b[\s,.!;:—-]*)+";
    /// An output that counts or names failures. It is used regardless of the exit status.
    SHOWS_FAILURE = r"(?im)\b[1-9][0-9]* (?:fail(?:ed|ures?|ing)?|errors?)\b|^\s*(?:fail(?:ed)?|error)\b[\s:]|^\(fail\)|\bcommand not found\b|^(?:fatal|traceback)\b|exited with code [1-9]";
    /// A file that was built, installed or checked out, not written by hand.
    BUILT = r"(?:^|/)(?:dist|build|out|target|node_modules|coverage|__pycache__|\.next|\.cache|vendor|tmp)/";
    /// Assignments of short plain values to variables for one command.
    VARIABLES = r"^(?:[A-Z_][A-Z0-9_]*=[A-Za-z0-9_:.+-]{1,24} )+";
    /// A wish that names a file or folder as the only place where it applies.
    ONLY_HERE = r"(?i)\b(?:in|for|inside|under|within|below) (?:(?:this|that|these|those) (?:file|folder|directory|module|script)s?\b|(?:all |every |the )?(?:files? |tests? |code |scripts? )?(?:in |under |below )?[`@]?[\w.-]+/[\w./*-]+)";
    /// A file or folder that is not named, but referred to by "this" or a similar word.
    THIS_FILE = r"(?i)\b(?:in|for|inside) (?:this|that|these|those) (?:file|folder|directory|module|script)s?\b";
    /// A line number after a file name, with the text of the line, as in the output of `grep -C`.
    LINE_OF_GREP = r"\.[A-Za-z][A-Za-z0-9]{0,7}(-[0-9]+(?:-[\w*@-]*)?)$";
    /// A path that exists only on one machine: a home, a drive, a temporary folder, another clone.
    MACHINE_PATH = r"(?i)(?:^|[\s`'\x22(=\[<])(?:/(?:home|users|tmp|private|root|mnt|media|volumes|var/folders|opt|srv|workspaces?|data)/[\w.@-]+|/[a-z]/[\w.@-]+|[a-z]:[\\/][\w.@~-]+|~[\\/][\w.@-]+|\\\\[\w.-]+\\)|file:/|\bAppData\b|\.claude/(?:worktrees|projects|plans)\b|\bC--|\bD--";
    /// The folder of a worktree in a relative path.
    IN_WORKTREE = r"\.claude[/\\]+worktrees[/\\]+[\w.-]+(?:[/\\]+|\b)";
    /// A web address, or text inserted by a machine.
    ADDRESS = r"https?://|</?[a-z-]+>|\bREDACTED\b|\[(?:Image|Pasted|Request)";
    /// An output of a test run in which no test was found.
    NO_TESTS = r"(?im)\bno tests? (?:found|collected|ran|to run|files? found|matched|were)|\b(?:ran|running|collected|found|executed) 0 (?:tests?|items|specs?|examples?)\b|\b0 (?:tests?|specs?|examples?|passing)\b";
    /// An output of a test run in which tests were found.
    SOME_TESTS = r"(?im)\b[1-9][0-9]* (?:tests?\b|passed|passing|pass\b|ok\b|specs?\b|examples?\b|assertions?)|^ok\s+\S+\s+[0-9.(]";
    /// An argument of a command that names a single file, test, commit or address.
    ONE_FILE = r"(?i)[\w-]+\.(?:tsx?|jsx?|mjs|py|go|rs|rb|java|kt|php|sh|ps1|lua|md|mdx|json|ya?ml|toml|html|css|svg|png|log|txt)$|^-{1,2}(?:run|k|t|grep|filter|testNamePattern)(?:=|$)|^HEAD|https?:|^[0-9a-f]{7,40}$|^[0-9]{3,}$";
    /// Output for a command that is wrong on any machine, because the subcommand, option or program does not exist.
    WRONG_USE = r"(?i)(?:unrecogni[sz]ed|unknown|illegal|invalid|unexpected|unsupported) (?:sub ?command|command|option|argument|flag|skill|switch|parameter)|command not found|missing script|script not found|is not recognized|no such (?:command|option|subcommand)";
    /// A path or word that names a temporary file.
    SCRATCH = r"(?i)scratch|\btmp\b|\btemp\b|<tmp>|[-_](?:old|new|before|after|base)\b";
    /// A path or file name.
    PATH = r"(?:^|[\s(\x22'`@])(?:[\w.@~-]+/)+[\w.*@-]+|\b[\w-]+\.(?:tsx?|jsx?|mjs|cjs|rs|py|go|rb|java|kt|swift|c|cc|cpp|h|hpp|cs|php|sql|sh|md|mdc|json|ya?ml|toml|lock|css|scss|html|svg|txt|cfg|ini|env|xml|proto|tf|gradle|ex|exs|erl|hs|ml|scala|lua|vue|svelte|ipynb|plist)\b";
    /// Text that a tool printed and a person pasted.
    LOG = r"(?im)^\s*(?:at .+\(.+:[0-9]+|\[[\w .:-]+\]\s|[0-9]{4}-[0-9][0-9]-[0-9][0-9][T ][0-9][0-9]:[0-9][0-9]|(?:error|warning|info|debug|trace|fatal|uncaught|traceback)\b.*:|[\w./-]+\.\w+:[0-9]+(?::[0-9]+)?|\s*File \x22.+\x22, line [0-9]+|(?:npm|yarn|pnpm) (?:ERR|WARN)|\$ \w+|>>> )";
    /// A line of a log that reports a failure.
    LOG_ERROR = r"(?i)\b(?:error|exception|failed|failure|fatal|panicked|cannot|can't|not found|denied|refused|timed? ?out|undefined|warning|uncaught|invalid|unrecogni[sz]ed)\b";
    /// A prompt that only asks to continue.
    GOES_ON = r"(?ix)^\W*(?:(?:ok(?:ay)?|yes|yep|yeah|sure|please|now|then|and|great|good|perfect|thanks?(?:\ you)?|nice|cool|fine|go|alright|all\ good|looks\ good|lgtm|it\ works|works|it\ work|so|just|can\ you|could\ you|the|a|all|this|that|it|them|these|those|your|my|our|recent|latest|last|changes?|work|everything|to|on|ahead|again|first|next|again|also|only|too|both|for\ me|up|commit|commi|committ?|push|hpush|merge|tag|continue|proceed|resume|retry|try|do|run|save|finish|clear|exit|quit|stop|done|y|n|no|k|next|step|carry|keep|going|approved?|accepted?|confirm(?:ed)?|agreed?)\b\W*)+$";
    /// A plan inserted into the prompt by plan mode.
    PLAN_PROMPT = r"(?i)^\s*implement the following plan:\s*";
    /// A word at the beginning of a sentence that refers to an earlier sentence.
    POINTS_BACK = r"(?i)^(?:previously,? (?:this|it|that|they)|it|this|that|these|those|they|he|she|both|also|then|so|but|and|however|instead|otherwise|which|here|there|same|additionally|similarly)\b";
    /// A question.
    QUESTION = r"\?\s*[\x22')\]]*$";
    /// Trailers and signatures of commit messages.
    TRAILER = r"(?i)^\s*(?:co-authored-by|signed-off-by|reviewed-by|generated with|change-id|refs?|closes|fixes|🤖)\b.*[:#@].*$|^\s*🤖";
}

/// Returns whether a text contains a path that exists only on one machine.
pub fn names_machine(text: &str) -> bool {
    MACHINE_PATH.is_match(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &Pattern, yes: &[&str], no: &[&str]) {
        for text in yes {
            assert!(pattern.is_match(text), "should match: {text}");
        }
        for text in no {
            assert!(!pattern.is_match(text), "should not match: {text}");
        }
    }

    #[test]
    fn narration_is_distinguished_from_statements() {
        check(
            &NARRATION,
            &[
                "Let me read the file.",
                "Now I'll add the test.",
                "Good. Now let me check the config.",
                "Here's what changed:",
            ],
            &["The parser drops the last line.", "Only the tests of this module are slow."],
        );
    }

    #[test]
    fn a_prompt_to_continue_is_distinguished_from_a_request() {
        check(
            &GOES_ON,
            &[
                "yes",
                "commit this",
                "ok, continue",
                "commit all your changes",
                "go ahead!",
                "Looks good",
            ],
            &["commit only the parser", "use tabs", "yes but keep the old name"],
        );
    }
}
