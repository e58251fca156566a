//! The words by which a sentence is told: narration, status, wish, cause, choice. General English
//! of working together on code; nothing of one project.

use std::sync::LazyLock;

use super::pattern::{Pattern, pattern};

macro_rules! patterns {
    ($($(#[$doc:meta])* $name:ident = $text:expr;)*) => {
        $($(#[$doc])* pub static $name: LazyLock<Pattern> = LazyLock::new(|| pattern($text));)*

        /// Every pattern of this file, for the test that compares their forms.
        #[cfg(test)]
        pub(super) static PATTERNS: &[&LazyLock<Pattern>] = &[$(&$name),*];
    };
}

patterns! {
    /// The assistant says what it does next.
    NARRATION = r"(?ix)^(?:(?:and|but|so|ok(?:ay)?|good|great|now|then|next|first|finally|perfect|also)[,.!—\s-]+)*
        (?:let\ me|let(?:'|’)s|i(?:'|’)ll|i\ will|i(?:'|’)m\ (?:going\ to|now)|i\ am\ going\ to|i\ need\ to|i\ should|i\ want\ to|i\ can\ (?:now\ )?see|i\ see\b|
        i\ (?:now\ )?have\ (?:a|all|everything|enough|the)\b|i\ understand|now\ (?:i|let|update|add|run|create|fix|the\ |also|verify|check|implement|make|replace|remove|that\ i)|
        next,?\ (?:i|update|add)|time\ to|going\ to|looking\ at|checking|reading|running|starting|moving\ on|proceeding|
        step\ [0-9]|(?:update|updating|verify|verifying)\ (?:the|all|it|that)\b.{0,40}$|we\ need\ to\ (?:check|look|see|find)|
        want\ me\ to|would\ you\ like|shall\ i|should\ i|do\ you\ want|ready\ (?:to|for)|here(?:'|’)s|here\ (?:is|are)|there\ (?:we|you)\ go|
        (?:the\ )?(?:agent|exploration|search)\ (?:has|have|is|shows|returned|found))\b";
    /// Words that announce a list and say nothing themselves.
    ANNOUNCES = r"(?i)\b(?:summary|summari[sz]e[sd]?|overview|here(?:'|’)s|here (?:is|are)|what (?:i|was|has|changed)|(?:changes?|updates?|fix(?:es)?|edits?) (?:made|implemented|applied|include|are)|following|as follows|(?:both|these|the|two|three|four|few|several|all) (?:issues?|changes?|things|edits|tasks|steps|options)|breakdown|verification|(?:need|want) to|files? (?:changed|modified))\b[^:]*:$";
    /// The state of the moment: true then, useless later.
    STATUS = r"(?ix)^(?:(?:ok(?:ay)?|good|great|now|so|and|everything|perfect)[,.!—\s-]+)*(?:
        (?:all|the|both|[0-9]+)?\s*(?:[0-9][0-9,/]*\s+)?(?:new\s+|unit\s+|existing\s+|full\s+)?(?:tests?|checks?|lint(?:ing)?|type\s?check(?:ing)?|build|suite|test\ suite|pre-commit\ hooks?|hooks?|compilation|typescript|everything)\b[^.]{0,40}?\b(?:pass(?:e[sd]|ing)?|succeed(?:s|ed)?|successful(?:ly)?|clean|green|ok|fine|work(?:s|ed)?|done|completed?)\b.{0,60}$
        |(?:all|everything)\s+(?:is\s+|are\s+|looks?\s+)?(?:clean|good|done|green|set|complete|working|[0-9]+\s+tasks?.*complete|clear|fine)\b.{0,60}$
        |(?:successfully\s+)?(?:committed|pushed|tagged|merged|staged|done|completed?|finished|fixed|implemented|updated|verified|saved)\b[^a-z]{0,3}(?:as|to|in|with|and|successfully|the\ commit|everything|all)?\b.{0,70}$|(?:committed|pushed|tagged)\ (?:as|to|in|and)\b.*$
        |commit(?:\s+(?:created|succeeded|successful|done|made|is\ in))?\b.{0,50}$
        |(?:the\ )?(?:working\ (?:tree|directory)|tree|branch|repo(?:sitory)?)\s+(?:is\ )?(?:now\ )?(?:clean|up\ to\ date).{0,40}$
        |[0-9]+\s+(?:files?\ changed|tests?|pass(?:ed)?|insertions?|errors?|warnings?)\b.{0,60}$
        |(?:no|zero|0)\s+(?:new\s+)?(?:errors?|warnings?|issues?|regressions?|failures?)\b.{0,40}$
        |(?:the\ )?(?:changes?|commit|files?|work|task|implementation|plan|pr|fix|feature)\s+(?:is|are|has\ been|have\ been|was|were)\s+(?:now\s+)?(?:now\ )?(?:complete[d]?|done|in\ place|committed|pushed|ready|implemented|applied|created|made|live)\b.{0,60}$
        |(?:created|deleted|removed|added|updated|edited|wrote|renamed)\s+\S+\.?$
        |[^.]{2,60}\s(?:—|–|-|:)\s*(?:passed|skipped|failed|succeeded|unchanged)\b[^.]{0,40}$
        |[^.:]{2,60}\s(?:running|in\ progress|under\ ?way)\s*:.*$
        |nothing\ (?:else|more)|no\ (?:further|other)\ changes|that(?:'|’)s\ (?:it|all))";
    /// A sentence that limits or contrasts is kept even in narration.
    RESTRICTS = r"(?i)\b(?:only|not|never|n't|n’t|instead|rather|because|since|without|unless|except|misleading|cannot|already)\b";
    /// How things are done here.
    HABIT = r"(?i)\b(?:convention|we (?:use|always|never|only|keep|write|name|put|follow|don't|do not)|in this (?:repo|repository|project|codebase)|here we|our (?:style|convention|rule|policy|process|naming|code ?base|team)|code style|naming convention|commit messages? (?:are|must|should|start)|branch(?:es)? (?:are|must|should)|tests? (?:must|should|go|live)|house rule|every (?:commit|pr|pull request|change|test|file|migration)|before (?:committing|pushing|merging|a release)|after (?:every|each) change)\b";
    /// The reason why something is as it is, or why it broke.
    CAUSE = r"(?i)\b(?:root cause|because|caus(?:ed by|ing)|the cause|due to|turns? out|turned out|the (?:real |actual |main |underlying |core )?(?:issue|problem|bug|culprit|reason|error|failure|trouble) (?:is|was|were|comes|came|here)|the fix (?:is|was)|found (?:it|the (?:issue|problem|bug|cause|culprit|root))|falls? through|fell through|falling through|leads? to|led to|which (?:causes?|caused|means|meant|breaks|broke|makes|made)|results? in|that(?:'|’)s why|this is why|explains why|happens? (?:when|because|since)|breaks? (?:when|because|if)|fails? (?:when|because|if|with|on|since|due)|failed (?:because|since|due|with|on)|so that(?:'|’)s)\b";
    /// Something that surprises: it works otherwise than one would think.
    SURPRISE = r"(?i)\b(?:actually|in fact|surprising(?:ly)?|unexpected(?:ly)?|misleading|silently|despite|even though|although|however|but (?:only|not|it|the|this|in|when)|gotcha|caveat|careful|beware|watch out|note that|important(?:ly)?|subtle|counter-?intuitive|quirk|pitfall|trap|only works?|does ?n[o']t (?:work|support|exist|match|handle|know|propagate|include|apply|expose|respect)|doesn’t|do not (?:work|support)|is not (?:supported|available|a real|passed|propagated|included|used|set|enough|installed)|isn't (?:supported|available|passed|propagated|set|enough)|are ?n[o']t (?:supported|passed|configured|set)|no longer|hard-?coded|must be|have to be|needs? to be|requires?|stale|leftover|out of sync|race|deadlock|flaky|mirrored?|duplicated?|overwrit(?:e|es|ten)|ignored|dropped|lost|missing|not found|invalid|corrupt(?:ed)?|unrecogni[sz]ed|undefined)\b";
    /// A cure is named.
    CURE = r"(?i)\b(?:fix(?:ed|es)?|solv(?:ed|es)|resolv(?:ed|es)|cured?|workaround|work-around|worked around|now (?:uses?|works?|passes|returns?|handles?|includes?|checks?|accepts?|shows?|always|also|classif\w+|drops?|skips?)|switch(?:ed|ing)? (?:to|from)|replac(?:ed?|ing)|changed|added|adding|removed|removing|renam(?:ed|ing)|moved|wrapped|instead|simplified|downgrad\w+|upgrad\w+|pinned|set (?:to|the)|use[sd]?)\b";
    /// A choice and its reason.
    CHOICE = r"(?i)\b(?:decid(?:ed|e|es)|decision|chose|choose|chosen|opt(?:ed)? for|went with|going with|go with|settled on|picked|prefer(?:red|s)?|instead of|replac\w+ .{3,120} with|rather than|over (?:the )?(?:alternative|other)|trade-?off|by design|deliberate(?:ly)?|intentional(?:ly)?|on purpose|so that|to avoid|to keep|to prevent|to ensure|to make sure|in order to|minimal and|simplest|safer|cleaner|single source of truth|approach|strategy|not worth|out of scope|for now|the reason (?:we|for)|why (?:we|this|it))\b";
    /// Words for a thing that went wrong.
    FAILS = r"(?i)\b(?:fail(?:s|ed|ing|ure)?|missing|invalid|cannot|can't|can’t|unable|error|exception|crash(?:es|ed)?|broken|undefined|refused|denied|timed? ?out|not found|unsupported|unrecogni[sz]ed|rejected|conflict|panick?(?:s|ed)?|corrupt(?:ed)?|illegal)\b";
    /// A sentence that asks for a piece of work rather than for how things should be.
    REQUEST = r"(?i)^(?:(?:at|in|on|for|from|under|above|below|near|inside) [^,.]{3,60}, )?(?:\W*(?:ok(?:ay)?|now|then|and|also|so|next|please|first|again|great|good)[,.!\s]+)*(?:(?:i think )?(?:we|you|i) (?:should|must|musr|need to|have to|can|could|want to|would like to|want you to|'d like (?:you )?to)(?: (?:also|now|then|probably|maybe|just))*|i(?:'d| would) like (?:you )?to|can you|could you|please|let's|let us)?\s*(?:now |also )*(?:add|implement|create|build|write|update|fix|change|refactor|migrate|remove|delete|rename|move|find|check|review|investigate|look|explain|show me|improve|redesign|extend|replace|highlight|set up|setup|generate|test|run|commit|push|tag|release|bump|document|port|convert|split|extract|clean|rewrite|rework|try|continue|analy[sz]e|debug|plan|suggest|research|read|open|start|integrate|support|introduce|prepare|finish|complete|(?:take|drop|undo|revert|restore|swap|hide|copy|install|upgrade|simplify|shorten) (?:the|this|that|these|those|it|them|my|our|all|both))\b";
    /// An approach that was tried and dropped.
    TRIED = r"(?i)\b(?:(?:was|were) (?:first )?tried\b|revert(?:ed|ing)\b|undid|rolled back|backed out|(?:did ?n[o']t|didn’t|does ?n[o']t|doesn’t|won't|won’t|can't|cannot) work\b|not viable|dead end|gave up|abandoned|(?:first|initially|originally) (?:tried|attempted|used)|tried .{3,80}\bbut\b|attempt(?:ed)? .{3,80}\bbut\b|(?:instead of|rather than) .{3,60} which (?:failed|crashed|broke|caused|required|needed)|switch(?:ed|ing)? (?:away )?from .{3,120} (?:to|because|since|due)|too (?:slow|fragile|brittle|complex|heavy) )";
    /// Something that the last message leaves to be done.
    LEFT_OPEN = r"(?i)\b(?:still (?:need(?:s|ed)?|to do|open|missing|pending|fail(?:s|ing)|left|to be)|not (?:yet|implemented yet|done yet|addressed|covered)|aren't .{0,40}yet|isn't .{0,40}yet|(?:are|is) not .{0,40}\byet|remain(?:s|ing)? (?:to|open|unfixed|todo|work|task|step|issue)|next steps?|follow-?ups?|left (?:to do|open|for later)|you(?:'ll| will)? (?:still )?need to|needs? to be (?:done|configured|set|run|added|updated|migrated|fixed|created)|to (?:complete|finish) (?:the|this)|once (?:the|you|this|that|it) .{5,80} (?:can|will|re-?run|then)|(?:is|are|still|remains?) blocked (?:by|on|until)|waiting (?:for|on) \S+ \S+ \S+|todo|to-do)\b";
    /// The word before what is left to do, as Claude and tasks have it: "Open: ...", "Still to do - ...".
    OPEN_LABEL = r"(?i)^[^\p{L}\p{N}]{0,4}(?:(?:still |yet )?(?:open|to ?-?dos?|to be done)|(?:still )?(?:remaining|outstanding|pending|unfinished|deferred|postponed)|(?:still )?left (?:to (?:do|be done)|open|undone|over|for later)|not (?:yet )?done(?: yet)?|what(?:'|’)?s? (?:is )?(?:left|remains|open)(?: to do)?|for later|loose ends)(?: (?:items?|points?|tasks?|issues?|questions?|ends?|work|things?|steps?|todos?|threads?|for now|here))?[*_`]{0,2}\s*(?:[:—–]|-\s)[*_`]{0,2}\s*";
    /// Text behind such a word where nothing is left.
    NOTHING_OPEN = r"(?i)^(?:none|nothing|no\b|n/a|nil|0\b|[-—]|https?:)";
    /// The subject of a commit that cures something.
    FIX_SUBJECT = r"(?i)^(?:\w+\([^)]*\)!?:\s*)?(?:hot)?(?:fix(?:e[sd])?|bugfix|resolve[sd]?|repair|correct|prevent|avoid|handle|stop|restore)\b|^fix";
    /// A command that was put wrongly, as its output says.
    USAGE = r"(?i)(?:unrecogni[sz]ed|unknown|illegal|invalid|unexpected|unsupported|ambiguous) (?:sub ?command|command|option|argument|flag|skill|switch|parameter)|command not found|no such (?:file|command|option|subcommand)|not a (?:valid|known)|is not recognized|usage:|missing (?:script|required|argument)|script not found|not found: |can't open|does not exist|must be run|requires? (?:an? )?(?:argument|value)|no tests? (?:found|collected|files?)|did not match any|not a git repository|no module named|pathspec";
    /// A command that changes something.
    CHANGES = r"(?i)(?:\b(?:install|add|remove|rm|mv|cp|mkdir|touch|chmod|chown|ln|kill|pkill|restart|start|stop|up|down|reset|checkout|restore|stash|clean|clear|prune|migrate|generate|sync|update|upgrade|rebuild|build|fix|format|fmt|write|init|config|set|export|unset|login|fetch|pull|rebase|apply|patch|sed -i|tee)\b|--fix|--write|--force|-f\b)";
    /// Words that introduce what was seen.
    SEEN = r"(?i)^(?:i (?:now )?(?:can )?see (?:that |the (?:issue|problem)[:,.—-]*\s*)?|i found (?:that |the (?:issue|problem|bug)[:,.—-]*\s*)?|looks like |it (?:looks|seems) (?:like|that) |apparently,? |so )";
    /// The outline of a failure that any failure has.
    GENERIC_ERROR = r"(?i)^\s*[$>] |^\s*(?:i|ℹ|note:|help:|hint:) |^\W*[0-9]+(?:\s|\||│)|some (?:errors|warnings) were emitted|exit(?:ed)? (?:with )?(?:code|status)|command failed|elifecycle|^npm err! (?:code|errno|path|command)|^error: (?:process|script|recipe)|^make(?:\[[0-9]+\])?: \*\*\*|^(?:found|checked) [0-9]+|^[0-9]+ (?:errors?|failed|failures?)\b|^error$|^string:|^failed$";
    /// A sentence about one line of a file as it was that day.
    AT_LINE = r"(?i)^(?:at )?lines? ~?[0-9]+";
    /// The first column of a table that lists the day's work.
    CHORE_TABLE = r"(?i)^\W*(?:files?|step|task|change|check|test|command|#|status|phase)s?\W*$";
    /// Phrases by which Claude proposes its next step.
    PROPOSES = r"(?i)\b(?:next(?: steps?)?\b|want me to|shall i|should i|would you like|let me know|you(?:'ll| will)? (?:still )?need to|once (?:the|you)|to (?:complete|finish) (?:the|this)|ready to|remain(?:s|ing)|still (?:to do|needs?|open)|you can (?:now )?(?:re-?run|run|push|test|try|start))\b";
    /// Errors of Claude Code's own tools, which occur in every project.
    TOOL_HABIT = r"(?i)has not been read yet|modified since read|unexpectedly modified|read it (?:again|first)|no changes to make|exceeds maximum allowed (?:tokens|size)|user (?:doesn't want|rejected)|cancelled|file does not exist|eisdir|is a directory|(?:request|operation|command) timed out|blocked by hook|permission to use";
    /// A file that a shell's own tool did not find: a slip.
    MISTYPED = r"(?i)^(?:/\S*/)?(?:rm|cp|mv|ls|cat|cd|mkdir|rmdir|touch|find|grep|sed|head|tail|stat|wc|chmod|ln|bash|sh|zsh): .*(?:no such file or directory|not a directory|file exists|cannot (?:remove|stat|access|open))";
    /// A command that keeps the output of another one.
    ASSIGNS = r"^\s*[A-Za-z_]\w*=\$\(";
    /// Parts of a command line that only change its output.
    OUTPUT_ONLY = r"\s*(?:2>&1|2>\s*/dev/null|\|\s*(?:tail|head)(?:\s+-n?\s*[0-9]+|\s+-[0-9]+)?|\|\|\s*true)\s*";
    /// A line that a tool marks as an error.
    MARKED_ERROR = r"^\s*(?:×|✖|✗|✘|❌|E {2,})\s*(\S.*\S)\s*$";
    /// A guess at a cause; the next message may say otherwise.
    GUESSES = r"(?i)\b(?:likely|probably|might|may be|perhaps|maybe|seems?|appears?|could be|i think|i suspect|possibly|not sure)\b";
    /// A wish that says itself that it is for all times, even beside a request.
    EVERMORE = r"(?i)\b(?:from now on|always|never|every time|each time|whenever|in (?:the )?future|going forward)\b";
    /// Words by which a wish says that it holds beyond the work at hand.
    EVERYWHERE = r"(?i)\b(?:in (?:this|the|our|every|any) (?:repo|repository|project|codebase|code base|session)|in (?:all|every) (?:sessions?|files?|commits?)|(?:every|each) time|from now on|in (?:the )?future|going forward|ever again)\b";
    /// Words that a person says before the actual message.
    LEAD_IN = r"(?i)^(?:(?:ok(?:ay)?|yes|yep|no|nope|great|good|perfect|thanks|fine|now|so|and|also|but|wait|commit(?: (?:this|it|that))?|push(?: (?:this|it|that))?)\b[\s,.!;:—-]*)+";
    /// A look at something: whatever it limits, it says nothing.
    LOOKS = r"(?i)^(?:(?:ok(?:ay)?|good|great|now|so|but|and|perfect)[,.!—\s-]+)*(?:let me|i'll|i will|i need to|let's) (?:also |now |first |quickly |just |double-)*(?:check|verify|see|look|run|read|find|confirm|search|make sure|understand|review|inspect|explore|re-?read|try|take)\b";
    /// Announcements of the next step, at the end of a sentence that says something.
    THEN_LETS = r"(?i)(?:,? (?:but|so|and)|\s[—–-]|;)\s+(?:let me|i'll|let's|i will)\b.*$";
    /// Phrases in the middle of a sentence that tell Claude's intention.
    INTENDS = r"(?i)\b(?:let me|i(?:'|’)ll|i (?:also |now |just |still )?(?:need|have|want) to|i (?:should|can|could|will)|i(?:'|’)m going to)\b";
    /// An output that counts or names failures, whatever the exit status was.
    SHOWS_FAILURE = r"(?im)\b[1-9][0-9]* (?:fail(?:ed|ures?|ing)?|errors?)\b|^\s*(?:fail(?:ed)?|error)\b[\s:]|^\(fail\)|\bcommand not found\b|^(?:fatal|traceback)\b|exited with code [1-9]";
    /// A file that is built, installed or checked out, not written.
    BUILT = r"(?:^|/)(?:dist|build|out|target|node_modules|coverage|__pycache__|\.next|\.cache|vendor|tmp)/";
    /// Variables that are set for one command, each with a short plain value.
    VARIABLES = r"^(?:[A-Z_][A-Z0-9_]*=[A-Za-z0-9_:.+-]{1,24} )+";
    /// A reason, told as one.
    SAYS_WHY = r"(?i)\b(?:because|since|so that|so (?:the|it|they|we|that|users?)|otherwise|caus(?:ed|ing)|due to|in order to|to (?:avoid|prevent|keep|ensure|make sure)|enabling|allowing|improving|previously|which (?:means|meant|made|caused|broke)|for (?:better|easier|consistency|clarity|safety|performance)|without .{3,80}\bfails?)\b";
    /// A note on what was done to a test.
    TEST_NOTE = r"(?i)\b(?:assertions?|test cases?|unit tests?|tests? (?:file|for|that|to|which))\b|[._-](?:test|spec)\.|\btest_\w";
    /// The hash of a commit, by its letters and digits.
    HASH = r"\b(?:[0-9a-f]*[0-9][0-9a-f]*[a-f][0-9a-f]*|[0-9a-f]*[a-f][0-9a-f]*[0-9][0-9a-f]*)\b";
    /// The path of a test.
    TEST_PATH = r"(?i)(?:^|[/_.-])(?:tests?|specs?|__tests__)(?:[/_.-]|$)";
    /// The path of a file that sets tests up, or helps them: what is wrong there is no single test.
    TEST_SETUP = r"(?i)(?:^|[/_.-])(?:(?:global|test|tests|spec|jest|vitest|rails)[_.-]?)?(?:set-?up|tear-?down|conftest|fixtures?|bootstrap|helpers?|util(?:s|ities)?|support|common|harness|factor(?:y|ies)|config|env(?:ironment)?|compose)(?:tests?|files?)?(?:[/_.-]|$)";
    /// The path of a file that is a test itself, whatever it is about.
    ONE_TEST = r"(?i)[._-](?:test|spec)s?\.[^/]*$|(?-i:[a-z0-9](?:Test|Tests|Spec)\.[^/]*$)|(?:^|/)test_[^/]*\.py$|\.(?:snap|golden|expected)$|__snapshots__/";
    /// A wish that names the only place where it applies.
    ONLY_HERE = r"(?i)\b(?:in|for|inside|under|within|below) (?:(?:this|that|these|those) (?:file|folder|directory|module|script)s?\b|(?:all |every |the )?(?:files? |tests? |code |scripts? )?(?:in |under |below )?[`@]?[\w.-]+/[\w./*-]+)";
    /// The bold words that a paragraph or an item begins with.
    BOLD_LEAD = r"^\s*\*\*([^*\n]{2,}?)\*\*";
    /// A sentence whose subject stands elsewhere.
    POINTS_AT = r"(?ix)^(?:the\ (?:one|fix|issue|problem|bug|error|change|changes|same|other|others|first|second|third|last|latter|former|result|results|tests?|user|above|following|new\ (?:one|test|tests)|old|original|only|real|root|remaining|rest|reason|cause|root\ cause|culprit|answer|plan|work|feature|implementation|solution|approach|code|diff|commit|branch|pr|reviewer|review|agent|subagent|background|previous|current|existing)\b
        |(?:your|my|our|i|i'm|i've|i'll|you|he|she|we(?:'ve|'ll)?|each|all|one|both|either|neither|none|some|most|many|no|yes|not|done|now|still|too|plus|or|because|since|as|with|after|before|once|when\ (?:it|this|that)|if\ (?:it|this|that|you)|per|via|see|same|worth|given|without\ (?:it|this|that)|rather|meanwhile|separately|finally|first|second|third|next|again|already|just|ok|okay|only|even|otherwise)\b)";
    /// A sentence that names a thing: code, a file, a name.
    NAMED = r"`[^`]+`|\b[A-Za-z_]\w*[._/:-]{1,2}\w|\b[a-z]+[A-Z]\w*|\b[A-Z][a-z]+[A-Z]\w*|\b[A-Z]{2,}\w*|\w\s+[A-Z][a-z]\w+|--[a-z]|\w\(\)";
    /// Words to one another: who wrote them and for whom.
    TALKS = r"(?i)\b(?:i|i['’](?:m|ve|ll|d)|me|my|mine|you|you['’](?:re|ve|ll|d)|your|yours|let['’]s|say the word|shall (?:i|we)|should we|as (?:asked|requested|discussed|agreed)|(?:sub)?agents? (?:is|are|was|were|found|reported|did|ran|will|finished|running|dispatched)|the (?:reviewer|user)|task #?[0-9])\b";
    /// The state of an hour: what was run, staged, measured or checked then.
    MOMENT = r"(?ix)\b(?:verified|confirmed|all\ (?:clean|green|pass\w*)|tests?\ (?:pass|passes|passed|are\ green)|(?:suite|lint|build)\ (?:is\ )?(?:clean|green)|clean\ (?:build|tree)|working\ tree|uncommitted|unstaged|amended|unpushed|rebased|squashed|cherry-pick\w*|fixup|pull\ request|on\ (?:this|the)\ branch|right\ now|at\ the\ moment|today|yesterday|tomorrow|this\ (?:session|turn|time|run|machine|pass)|so\ far|not\ yet|pre-?existing|in\ progress|is\ running|re-?ran|spot[- ]check\w*|(?:live|functional|end[- ]to[- ]end)\ (?:functional\ )?(?:proof|check|test)|dev\ binary|scratch\w*|left\ (?:alone|untouched|unchanged)|untouched|line\ [0-9]+|lines\ [0-9]+|(?:green|finished|regenerated|dispatched)\b)\b|\b[0-9]+\s+(?:tests|files|commits|passed|failed|hits)\b|^[0-9a-f]{7,10}\s*[:—–-]|^(?:feat|fix|chore|docs|test|refactor)(?:\([^)]*\))?!?(?::|\s+[—–-])";
    /// A heading of what was done, seen or is next that day.
    PASSING_HEADING = r"(?ix)\b(?:verif\w+|validat\w+|tests?|testing|tested|checks?|proof|proven|status|summary|recap|next|tasks?|todo|open|remaining|left|loose\ ends?|done|progress|commits?|committed|branch(?:es)?|questions?|proposal|proposed|proposals|options?|plan|phases?|effort|estimates?|order|sequence|what\ (?:i|you)|caveats?\ for\ you|repro\w*|logs?|output|deliver\w*|shipped|landed|pre-?existing|out\ of\ scope|not\ (?:done|changed|covered|in)|goal|round|candidates?|merge|history)\b";
    /// An offer or a proposal: nothing of it holds until it is taken.
    OFFERS = r"(?i)\b(?:recommend\w*|two (?:ways|options)|options?|propos\w+|(?:we|i|you) (?:could|would|might)|i['’]d|we['’]d|would (?:need|have) to|could be|worth (?:a|doing|it|adding)|if (?:you|we) (?:want|like|prefer)|not blocking|follow-?ups?|roadmap|next steps?|judgement call|your call)\b";
    /// A word before a colon by which its writer says that what follows outlasts the day.
    LABELLED = r"(?i)^\W*(?:gotcha|caveat|pitfall|trap|beware|watch out|lesson(?: learned)?|rule|convention|decision|important|key (?:point|insight|finding)|worth (?:knowing|remembering))\b[^:\n]{0,40}:";
    /// Words by which the assistant says that something is worth remembering.
    SAVED = r"(?i)\b(?:memory (?:saved|updated|added)|(?:saved|added|noted|recorded|captured) (?:\w+ ){0,4}(?:to|in|as) (?:\w+ ){0,2}(?:memory|memories|agents\.md|claude\.md)|worth (?:knowing|remembering|keeping in mind)|keep(?:ing)? in mind|for (?:future|later) (?:sessions?|work|reference|agents?)|lesson(?:s)? (?:learned|here))\b";
    /// Labels in front of a sentence.
    LABEL = r"(?i)^(?:the )?(?:(?:root )?cause|(?:actual |real |core |main )?(?:issue|problem|bug|reason|finding|culprit)|fix|cure|solution|(?:root )?cause (?:found|confirmed)(?: and fixed)?|(?:quick )?(?:note|summary|result|verdict|background|context)|one (?:more )?(?:thing|note|caveat|detail)|also|important|confirmed|fixed|correction|tl;dr)\s*(?:[:—–]|-\s)\s*";
    /// A command that names the files that were changed.
    LISTS_CHANGES = r"\bgit\s+(?:-\S+\s+\S+\s+)*(?:add|commit|status|show|diff\s+(?:\S+\s+)*--(?:stat|name-only|name-status))\b";
    /// A line in which git names a file: of its status, of what a commit did to files, of a `--stat` or a diff.
    OF_GIT = r"^\s*(?:[MADRCTU?!]{1,2}\s+|(?:create|delete|rename|copy|mode change) |(?:modified|new file|deleted|renamed|both modified):\s|diff --git |[-+]{3} [ab]/|[0-9-]+\t[0-9-]+\t)|\|\s+(?:[0-9]+\b|Bin )|^\s*[^\s:]+/[^\s:]+$";
    /// Number of a line, and the line, as `grep -C` writes them behind the name of a file.
    LINE_OF_GREP = r"\.[A-Za-z][A-Za-z0-9]{0,7}(-[0-9]+(?:-[\w*@-]*)?)$";
    /// Mark that Claude adds to the option it would take.
    RECOMMENDED = r"(?i)\s*\((?:recommended|suggested|default)\)";
    /// The work of reviewing and of handing work out, by its own words.
    REVIEWS = r"(?i)\b(?:reviewers?|verifiers?|finders?|implementers?|(?:sub)?agents? (?:found|reported|flagged|did|ran|will|finished|returned|traced|is|are|was|were)|the (?:sub)?agent|angle [a-z]\b|refuted|corroborat\w+|(?:this|next|first|last|second) (?:round|pass|wave)|in flight|launched|dispatched|outstanding|sweep|corrections?|t[0-9]\b)\b";
    /// Words in front of a message that say that the work is done.
    OPENS = r"(?i)^(?:all (?:clean|good|done|green|set|checks? pass\w*)|done|fixed|got it|as expected|committed|everything (?:is )?\w+|(?:lint|build|typecheck|types?) (?:is|are|passes)\b[^.]*|(?:all )?[0-9,]* ?tests? pass\b[^.]*)\W*$";
    /// A path of one machine: a home, a drive, a temporary folder, another clone.
    MACHINE_PATH = r"(?i)(?:^|[\s`'\x22(=\[<])(?:/(?:home|users|tmp|private|root|mnt|media|volumes|var/folders|opt|srv|workspaces?|data)/[\w.@-]+|/[a-z]/[\w.@-]+|[a-z]:[\\/][\w.@~-]+|~[\\/][\w.@-]+|\\\\[\w.-]+\\)|file:/|\bAppData\b|\.claude/(?:worktrees|projects|plans)\b|\bC--|\bD--";
    /// A reply that agrees that the prompt before it was right.
    AGREES = r"(?ix)^\W*(?:(?:ah|oh|yes|yep|yeah|ok(?:ay)?|hmm|indeed)[,.!:\s—–-]+)*(?:fair(?:\ (?:point|enough|call|question|pushback))?\b\s*[,.!:;—–-]|(?:you(?:['’]re|\ are|\ were)|that(?:['’]s|\ is))\ (?:absolutely\ |completely\ |totally\ |quite\ |both\ )?(?:right|correct)\b|agreed\b|agree\b|my\ (?:mistake|bad|fault|error)\b|good\ (?:catch|point|call)\b|(?:valid|great|excellent)\ (?:point|catch|call)\b|point\ taken\b|right[,.!:;]?\s*[—–-]|correct\s*[,.!:;—–-]|true\s*[,.!:;—–-]|guilty\b|i\ (?:was\ wrong|got\ (?:that|it)\ wrong|misread|misunderstood|missed\ that|should(?:n['’]t)?\ have)\b|apologi[sz]es\b|sorry\b)";
    /// The folder of a worktree in a path that is relative already.
    IN_WORKTREE = r"\.claude[/\\]+worktrees[/\\]+[\w.-]+(?:[/\\]+|\b)";
    /// An address, or words that a machine put there.
    ADDRESS = r"https?://|</?[a-z-]+>|\bREDACTED\b|\[(?:Image|Pasted|Request)";
    /// A rule that holds, however the work at hand is done.
    RULES = r"(?i)\b(?:must(?: not|n't| never)?|never|always|cannot|can't|only (?:when|if|after|works?|on|with|for)|requires?|needs? to be|has to|have to|do not|don't|by design|deliberate(?:ly)?|intentional(?:ly)?|not supported|unsupported|limitation|by default)\b";
    /// Words that say that something is so when it is written.
    NOW = r"(?i)\b(?:current(?:ly)?|at (?:the moment|present)|right now|today|existing|now (?:shows?|uses?|has|is|does)|has no|have no|there (?:is|are) no|lacks?)\b";
    /// Phrases for the consequence of doing otherwise.
    CONSEQUENCE = r"(?i)\b(?:would(?:n['’]t)?|otherwise|or else|silently|breaks?|on every|every (?:time|call|run|render|session|build|request|start)|depends? on|rel(?:y|ies) on|blocks?|masks?|leaks?|resets?|overwrites?|throws?|hangs?|kills?|deadlocks?|collisions?|collides?|mismatch(?:es)?|loses?|swallows?)\b";
    /// A text that reports what was done.
    REPORTS = r"(?i)\b(?:added|updated|removed|replaced|renamed|rewrote|rewritten|moved|implemented|refactored|created|introduced|extracted|changed|expanded|wired|converted|migrated|regenerated)\b";
    /// A commit that takes another one back.
    REVERTS = r"(?i)^(?:\w+(?:\([^)]*\))?!?:\s*)?(?:revert|undo|back out)\b";
    /// A commit that is to become part of another one.
    WORK_IN_PROGRESS = r"(?i)^(?:wip\b|fixup!|squash!|amend!|tmp\b|temp\b|checkpoint\b|save\b)";
    /// A commit that changes texts, tests or the build alone.
    CHORE_SUBJECT = r"(?i)^(?:docs?|chore|tests?|style|ci|build|release)\b(?:\([^)]*\))?!?:";
    /// A file that people and agents write down what they learned in.
    KNOWLEDGE = r"(?i)(?:^|/)(?:\.?learnings?|memory|memories|memory-bank|adrs?|decisions?|runbooks?|(?:project-)?knowledge|references|playbooks?|post-?mortems?|conventions?)/(?:[^/]+/)*[^/]+\.(?:mdx?|mdc|txt|adoc)$|(?:^|/)(?:agents|claude|gemini|contributing|conventions|learnings|gotchas|decisions|memory|hacking|development)(?:\.local)?\.md$|(?:^|/)\.(?:claude|agents|cursor|github)/(?:skills|rules|agents|instructions)/.*\.(?:mdx?|mdc)$";
    /// A file of these that every session reads as it starts.
    READ_AT_START = r"(?i)(?:^|/)(?:claude|agents|gemini)(?:\.local)?\.md$|(?:^|/)\.claude/rules/";
    /// An output of a test run in which no test was found.
    NO_TESTS = r"(?im)\bno tests? (?:found|collected|ran|to run|files? found|matched|were)|\b(?:ran|running|collected|found|executed) 0 (?:tests?|items|specs?|examples?)\b|\b0 (?:tests?|specs?|examples?|passing)\b";
    /// An output in which some were.
    SOME_TESTS = r"(?im)\b[1-9][0-9]* (?:tests?\b|passed|passing|pass\b|ok\b|specs?\b|examples?\b|assertions?)|^ok\s+\S+\s+[0-9.(]";
    /// A question about what to do next, not about how something is to be.
    GOES_ON_HOW = r"(?i)\b(?:commit|push|pr\b|pull request|branch|proceed|continue|go on|go ahead|next|start|run|delegat\w+|agents?|subagents?|model|worktree|merge|rebase|how much|how many|right now|first|session|look good|correct\?|ready|scope|sweep|the (?:change|changes|fix|script|task|work)|this (?:change|fix|task|work)|your call)\b";
    /// An argument of a command that names one file, one test, one commit or one address.
    ONE_FILE = r"(?i)[\w-]+\.(?:tsx?|jsx?|mjs|py|go|rs|rb|java|kt|php|sh|ps1|lua|md|mdx|json|ya?ml|toml|html|css|svg|png|log|txt)$|^-{1,2}(?:run|k|t|grep|filter|testNamePattern)(?:=|$)|^HEAD|https?:|^[0-9a-f]{7,40}$|^[0-9]{3,}$";
    /// A command that is put wrongly whoever puts it so: it has no such part, or there is none.
    WRONG_USE = r"(?i)(?:unrecogni[sz]ed|unknown|illegal|invalid|unexpected|unsupported) (?:sub ?command|command|option|argument|flag|skill|switch|parameter)|command not found|missing script|script not found|is not recognized|no such (?:command|option|subcommand)";
    /// A path or a word that names a file of the day.
    SCRATCH = r"(?i)scratch|\btmp\b|\btemp\b|<tmp>|[-_](?:old|new|before|after|base)\b";
    /// Rules.
    RULE = r"(?i)\b(?:must|always|never|should|important|requires?|required|only|do not|don't|has to|have to)\b";
    /// Negation.
    NOT = r"(?i)\b(?:not|no|never|without|none|nothing|neither)\b|n't|n’t";
    /// A choice, for scoring.
    DECIDES = r"(?i)\b(?:decided|rather than|default|instead of|chosen|chose)\b";
    /// A wish, for scoring.
    WISH = r"(?i)\b(?:want|wants|wanted|please|prefer|would like|'d like|should|need|expect|allow|instead|make sure|ensure)\b";
    /// A path or file name.
    PATH = r"(?:^|[\s(\x22'`@])(?:[\w.@~-]+/)+[\w.*@-]+|\b[\w-]+\.(?:tsx?|jsx?|mjs|cjs|rs|py|go|rb|java|kt|swift|c|cc|cpp|h|hpp|cs|php|sql|sh|md|mdc|json|ya?ml|toml|lock|css|scss|html|svg|txt|cfg|ini|env|xml|proto|tf|gradle|ex|exs|erl|hs|ml|scala|lua|vue|svelte|ipynb|plist)\b";
    /// Text that a tool printed and a person pasted.
    LOG = r"(?im)^\s*(?:at .+\(.+:[0-9]+|\[[\w .:-]+\]\s|[0-9]{4}-[0-9][0-9]-[0-9][0-9][T ][0-9][0-9]:[0-9][0-9]|(?:error|warning|info|debug|trace|fatal|uncaught|traceback)\b.*:|[\w./-]+\.\w+:[0-9]+(?::[0-9]+)?|\s*File \x22.+\x22, line [0-9]+|(?:npm|yarn|pnpm) (?:ERR|WARN)|\$ \w+|>>> )";
    /// A line of a log that says what went wrong.
    LOG_ERROR = r"(?i)\b(?:error|exception|failed|failure|fatal|panicked|cannot|can't|not found|denied|refused|timed? ?out|undefined|warning|uncaught|invalid|unrecogni[sz]ed)\b";
    /// A prompt that only goes on with what was begun.
    GOES_ON = r"(?ix)^\W*(?:(?:ok(?:ay)?|yes|yep|yeah|sure|please|now|then|and|great|good|perfect|thanks?(?:\ you)?|nice|cool|fine|go|alright|all\ good|looks\ good|lgtm|it\ works|works|it\ work|so|just|can\ you|could\ you|the|a|all|this|that|it|them|these|those|your|my|our|recent|latest|last|changes?|work|everything|to|on|ahead|again|first|next|again|also|only|too|both|for\ me|up|commit|commi|committ?|push|hpush|merge|tag|continue|proceed|resume|retry|try|do|run|save|finish|clear|exit|quit|stop|done|y|n|no|k|next|step|carry|keep|going|approved?|accepted?|confirm(?:ed)?|agreed?)\b\W*)+$";
    /// A plan put into the prompt by plan mode.
    PLAN_PROMPT = r"(?i)^\s*implement the following plan:\s*";
    /// Text that plan mode adds to the plan.
    PLAN_TAIL = r"(?is)\n\s*if you need specific details from before exiting plan mode.*$";
    /// Headings under which a plan says why.
    WHY_HEADING = r"(?i)\b(?:context|background|problem|motivation|goal|objective|overview|why|root cause|cause|issue|summary|current (?:state|behaviou?r))\b";
    /// Headings under which a plan says what was chosen.
    CHOICE_HEADING = r"(?i)\b(?:decisions?|approach|design|strategy|choices?|constraints?|principles|rules|requirements?|scope|non-goals?|edge cases|key (?:points|elements|changes)|notes?|guidelines|trade-?offs|prerequisites|required|conventions?|architecture|how it works)\b";
    /// Headings under which a plan lays down what holds, however it is done.
    DECIDED_HEADING = r"(?i)\b(?:decisions?|constraints?|principles|rules|requirements?|edge cases|guidelines|trade-?offs|conventions?|non-goals?)\b";
    /// Headings whose text is the day's work, not knowledge.
    CHORE_HEADING = r"(?i)\b(?:verification|verify|testing|test plan|tests?|files? (?:to|changed|modified|affected|summary)|implementation (?:order|steps)|order|steps|checklist|timeline|files|todo|out of scope|references?|critical files)\b";
    /// A word that points at something said before.
    POINTS_BACK = r"(?i)^(?:previously,? (?:this|it|that|they)|it|this|that|these|those|they|he|she|both|also|then|so|but|and|however|instead|otherwise|which|here|there|same|additionally|similarly)\b";
    /// Phrases that concern only the files and the commit of that day.
    BOOKKEEPING = r"(?i)^committed\b|\b[0-9]+ (?:insertions?|deletions?)\b|^i (?:can[’']t|cannot|couldn[’']t|am unable|don[’']t have)\b|\b(?:unrelated|pre-?existing|not related to|(?:not|n't|n’t) (?:caused by|from) (?:my|our|this|these|the)|(?:un)?(?:staged|committed) (?:changes|files|modifications)|unmodified|(?:remains?|left|stays?) (?:untouched|unstaged|uncommitted)|(?:needs?|ready) to be (?:committed|staged|pushed)|(?:is|are|were|was) (?:now |already )*(?:committed|staged|pushed)|(?:did ?n[o']t|didn’t|have ?n[o']t) (?:modify|touch)|hard refresh|our (?:own )?changes? (?:is|are)|not our code|cleaned (?:them|it|those) up|files? to modify|the (?:lint|type|test|build|format\w*) (?:errors?|failures?|warnings?) (?:is|are|was|were) (?:in|from)\b|the commit (?:was|is|got) (?:blocked|refused)|tests? (?:is|are) failing\b|the diff (?:shows|includes|also|only|is)|commit(?:ted)? (?:only|just|without) |(?:part of this task|single commit)\b)";
    /// How people begin when they talk rather than name a thing.
    CONVERSES = r"(?i)^(?:i(?:'|’)?(?:d|m|ve)?\b|we\b|you\b|can\b|could\b|are\b|is\b|do\b|does\b|did\b|why\b|what\b|how\b|looks? like|look at|(?:it )?seems?\b|wait\b|now\b|and\b|but\b|so\b|then\b|also\b|ok(?:ay)?\b|no\b|yes\b|hmm|here\b|there\b|this\b|that\b|it\b|they\b|these\b|those\b|let(?:'|’)?s\b|please\b|commit\b)";
    /// A sentence about the cure rather than about what was tried before it.
    NAMES_FIX = r"(?i)^the (?:fix|solution|cure|answer)\b";
    /// A wish about the work at hand: said once, for this once.
    ASKS_ONCE = r"(?i)^(?:\W*(?:ok(?:ay)?|now|and|also|so|then|but|please)[,.!\s]+)*(?:(?:can|could|would|will) you\b|(?:ensure|make sure|be sure|remember to)\b|let(?:'|’)?s\b|i (?:want|would like|'d like) (?:you|to)\b)|\bi think (?:we|you|it|that)\b";
    /// A note of what was edited where: the code says it better.
    EDIT_NOTE = r"(?i)^(?:`?[\w@./-]+\.\w{1,5}`?(?:\s*\([^)]*\))?\s*(?::|—|–|-)|(?:add(?:ed|s)?|updat(?:ed|es)|chang(?:ed|es)|remov(?:ed|es)|renam(?:ed|es)|creat(?:ed|es)|mov(?:ed|es)|replac(?:ed|es)|modifi(?:ed|es)|kept|extract(?:ed|s)|pass(?:ed|es)|import(?:ed|s)|wrap(?:ped|s)|type definitions?|(?:single )?files? to modify)\b)";
    /// A file that is written for readers.
    DOCUMENT = r"(?i)\.(?:md|mdx|rst|txt|adoc)$";
    /// A file that lists what changed.
    CHANGELOG = r"(?i)(?:^|/)(?:changelog|changes|history|news|release[-_ ]?notes)[^/]*$";
    /// Words by which a user speaks of all that was done, not of a part of it.
    WHOLE = r"(?i)^(?:no|wait|hmm|stop)?[,.!\s]*(?:it|this|that|they)\b";
    /// Words by which a user rejects what was done.
    OBJECTS = r"(?i)\b(?:should not|shouldn't|should n[o']t|not .{1,60}\bbut\b|instead|revert|undo|go back|don't|do not|wrong)\b";
    /// A question.
    QUESTION = r"\?\s*[\x22')\]]*$";
    /// Trailers and signatures of commit messages.
    TRAILER = r"(?i)^\s*(?:co-authored-by|signed-off-by|reviewed-by|generated with|change-id|refs?|closes|fixes|🤖)\b.*[:#@].*$|^\s*🤖";
}

/// Whether a sentence names something that is left to do.
pub fn leaves_open(text: &str) -> bool {
    LEFT_OPEN.is_match(text) || labelled_open(text).is_some()
}

/// Returns the open work that a sentence names after a label that announces it; empty where a list follows.
pub fn labelled_open(text: &str) -> Option<&str> {
    let label = OPEN_LABEL.find(text)?;
    let rest = text[label.end()..].trim();
    (!NOTHING_OPEN.is_match(rest)).then_some(rest)
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
    fn what_is_left_to_do_is_known_by_its_label() {
        for (text, rest) in [
            ("Open: backfill keys for old refunds.", Some("backfill keys for old refunds.")),
            ("Still open: the docs", Some("the docs")),
            ("Open items:", Some("")),
            ("Still to do - the docs", Some("the docs")),
            ("TODO: the docs", Some("the docs")),
            ("To-dos: the docs", Some("the docs")),
            ("Remaining: the docs", Some("the docs")),
            ("Remaining work — the docs", Some("the docs")),
            ("What's left: the docs", Some("the docs")),
            ("Left to do: the docs", Some("the docs")),
            ("Not done yet: the docs", Some("the docs")),
            ("Pending: the docs", Some("the docs")),
            ("⚠ Open: the docs", Some("the docs")),
            ("Open: none", None),
            ("Remaining: 0", None),
            ("Open: http://localhost:3000", None),
            ("Open the page: it shows the docs", None),
            ("Open-source licences: all of them", None),
            ("The open points: the docs", None),
        ] {
            assert_eq!(labelled_open(text), rest, "{text}");
        }
    }

    #[test]
    fn narration_and_status_are_told_from_statements() {
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
        check(
            &STATUS,
            &[
                "All 214 tests pass.",
                "All tests pass, lint is clean.",
                "Committed as `abc1234`.",
                "3 files changed, 4 insertions",
                "The working tree is clean.",
                "Two agents running: the parser and the printer",
            ],
            &[
                "The cache is not emptied while the daemon is running",
                "The pre-commit hook runs the linter over the whole tree, so other people's errors block a commit.",
                "Pushed events are kept until the worker confirms them, since a crash would lose them otherwise and nobody would notice.",
            ],
        );
    }

    #[test]
    fn a_prompt_that_goes_on_says_nothing_new() {
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
