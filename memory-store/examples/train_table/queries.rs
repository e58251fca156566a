//! Texts in the shape of what people ask and note, made from sentences and templates.

use crate::corpus::Dictionary;
use crate::shuffle::Dice;

/// Words that a person leaves out of a search.
const LEFT_OUT: &str = "a an the is are was were be been being of to in on at for with by from as and or \
    but if then than that this these those it its i you he she they we my your our their me his her \
    them do does did have has had will would can could should may might must not no so such there here \
    what which who whom how when where why into about over under also only";

const STARTS: [&str; 10] = [
    "why does",
    "when did we decide that",
    "what about",
    "do you remember that",
    "is it true that",
    "can you tell me if",
    "have we seen that",
    "how come",
    "remind me that",
    "what did we say about",
];

const NAMES: &str = "Anna Ben Clara David Emma Felix Grace Henry Irene Jack Kate Liam Maya Noah Olivia \
    Peter Quinn Rosa Sam Tina Uma Victor Wendy Yara Zoe Tom Lucy Mark Julia Paul Sarah Alex Chris Nina \
    Omar Priya Wei Hiro Ivan Elena";
const THINGS: &str = "job dog cat book trip house garden movie concert friend sister brother mother father \
    son daughter guitar piano painting class course marathon race hike beach museum recipe cake dinner \
    restaurant car bike phone computer game team project meeting interview exam degree school university \
    hospital doctor pet birthday wedding party holiday vacation festival photo picture letter gift necklace \
    shop business dance studio yoga adoption charity volunteer shelter park lake mountain city country \
    language album song band show series novel author poem workshop conference presentation budget savings \
    loan rent apartment roommate neighbor boss colleague client deadline bug feature release deployment \
    server database migration test schema config password token queue endpoint login dashboard report \
    invoice spreadsheet website app script parser compiler index";
const PARTS: &str = "server database migration test schema config token cache queue endpoint login dashboard \
    report script parser compiler index api build pipeline cluster container module package branch commit \
    release log query session user file folder key table";
/// Verbs and their past tenses.
const VERBS: &str = "buy bought sell sold visit visited paint painted write wrote read read watch watched \
    start started finish finished join joined leave left lose lost find found win won make made build built \
    plan planned attend attended call called meet met see saw learn learned teach taught cook cooked bake \
    baked run ran climb climbed play played sing sang adopt adopted move moved travel traveled study studied \
    apply applied quit quit repair repaired break broke plant planted sign signed choose chose decide decided \
    recommend recommended prefer preferred mention mentioned suggest suggested receive received give gave \
    cancel canceled book booked order ordered try tried fix fixed deploy deployed rename renamed remove \
    removed add added change changed configure configured install installed upgrade upgraded test tested \
    merge merged";
const FEELINGS: &str = "great hard fun sad exciting relaxing expensive boring scary lovely";
const MONTHS: &str =
    "January February March April May June July August September October November December";

/// `{N}` and `{M}` are names, `{v}` and `{p}` a verb and its past, `{c}` and `{k}` things, `{d}` and `{e}`
/// parts of software, `{n}` a noun, `{a}` a feeling, `{o}` a month, `{y}` a year, `{i}` a day.
const TEMPLATES: [&str; 36] = [
    "When did {N} {v} the {c}?",
    "What did {N} {v} in {o}?",
    "Why did {N} {v} a {n}?",
    "Where did {N} {v} the {c}?",
    "How long has {N} had the {c}?",
    "Who {p} the {c} with {N}?",
    "What kind of {c} does {N} like?",
    "{N} {p} a {c} with {M} last week.",
    "I {p} a {c} yesterday and it was really {a}.",
    "How many {c}s did {N} {v}?",
    "Which {c} did we {v} for the {d}?",
    "What is {N}'s favorite {c}?",
    "Would {N} enjoy a {n}?",
    "What does {N} think about {n}?",
    "Have I ever mentioned my {c} or the {n}?",
    "How did {N} feel about the {c}?",
    "Can you remind me what I said about the {c} and {n}?",
    "{N}: {M}, how was the {c}? I {p} mine in {o}.",
    "{M} is planning to {v} a {c} in {o} {y}.",
    "What {c} did {N} and {M} {v} together?",
    "what did we {v} about {d}",
    "where is the {d} {e}",
    "why does the {d} {e} fail",
    "{d} {e} {n}",
    "how do I {v} the {d} {e}?",
    "we {p} the {d} {e} because of the {n}",
    "What was the date of {N}'s {c}?",
    "In what order did I {v} the {c}, the {k} and the {n}?",
    "Give me a summary of how my {c} developed over time.",
    "{N} {p} it on {i} {o} {y}.",
    "{v} all {d}s that contain {n} and print the {e}",
    "find all {e} files in the current directory and {v} them",
    "{d}: {v} the {e} when the {k} is missing",
    "the {d} should never {v} the {e}",
    "do the same for the {e}",
    "How many days between the {c} and the {k}?",
];

/// Questions and notes from templates.
pub fn from_templates(dictionary: &Dictionary, count: usize) -> Vec<String> {
    let verbs: Vec<&str> = VERBS.split_whitespace().collect();
    let lists = [
        ("{N}", NAMES),
        ("{M}", NAMES),
        ("{c}", THINGS),
        ("{k}", THINGS),
        ("{d}", PARTS),
        ("{e}", PARTS),
        ("{a}", FEELINGS),
        ("{o}", MONTHS),
    ];
    let lists = lists.map(|(mark, words)| (mark, words.split_whitespace().collect::<Vec<_>>()));
    (0..count)
        .map(|number| {
            let mut dice = Dice::new(&format!("template {number}"));
            let mut text = TEMPLATES[number % TEMPLATES.len()].to_owned();
            for (mark, words) in &lists {
                text = text.replace(mark, dice.pick(words));
            }
            let verb = dice.roll(verbs.len() / 2) * 2;
            let (day, year) = (dice.roll(28) + 1, dice.roll(8) + 2019);
            text.replace("{v}", verbs[verb])
                .replace("{p}", verbs[verb + 1])
                .replace("{n}", dice.pick(&dictionary.nouns))
                .replace("{i}", &day.to_string())
                .replace("{y}", &year.to_string())
        })
        .collect()
}

/// Returns one search for each word: the word and its meaning, the meaning alone, or a question for the word.
pub fn from_meanings(dictionary: &Dictionary) -> Vec<String> {
    let forms = dictionary.meanings.iter().enumerate().map(|(at, (word, meaning))| match at % 3 {
        0 => format!("{word}: {meaning}"),
        1 => meaning.clone(),
        _ => format!("what is {word}"),
    });
    forms.collect()
}

/// Searches for a function, from its name and the first sentence on it.
pub fn for_functions(functions: &[(String, String)]) -> Vec<String> {
    let forms = functions.iter().enumerate().map(|(at, (name, sentence))| {
        let lower = sentence.trim_end_matches('.').to_lowercase();
        let does = lower.split(' ').take(14).collect::<Vec<_>>().join(" ");
        let words = name_words(name);
        match at % 7 {
            0 => format!("how to {does} in python"),
            1 => format!("python {}", key_words(&does).join(" ")),
            2 => words,
            3 => format!("how do i {does}?"),
            4 => format!("how to {words} python"),
            5 => format!("{name} {words}"),
            _ => format!("{does} python"),
        }
    });
    forms.collect()
}

/// Searches and questions that a sentence answers.
pub fn for_sentences(sentences: &[String]) -> Vec<String> {
    let forms = sentences.iter().enumerate().map(|(at, sentence)| {
        let mut dice = Dice::new(sentence);
        let bare = sentence.trim_end_matches(['.', '!', '?']);
        let lower = bare.to_lowercase();
        let words: Vec<&str> = bare.split(' ').collect();
        let mut keys = key_words(&lower);
        match at % 6 {
            0 => keys.join(" "),
            1 => words[..words.len().min(2 + dice.roll(6))].join(" "),
            2 => format!("{} {lower}?", dice.pick(&STARTS)),
            3 => {
                let start = dice.roll(words.len().saturating_sub(6) + 1);
                let end = words.len().min(start + 3 + dice.roll(6));
                words[start..end].join(" ").to_lowercase()
            }
            4 => {
                let count = keys.len().min(1 + dice.roll(4));
                dice.shuffle(&mut keys);
                keys[..count].join(" ")
            }
            _ => format!("{sentence} {}", sentences[dice.roll(sentences.len())]),
        }
    });
    forms.collect()
}

fn key_words(lower: &str) -> Vec<&str> {
    lower
        .split(' ')
        .filter(|word| !LEFT_OUT.split_whitespace().any(|left_out| left_out == *word))
        .collect()
}

/// `readLine_fast` as `read line fast`.
fn name_words(name: &str) -> String {
    let mut words = String::new();
    let mut was_lower = false;
    for char in name.chars() {
        if char == '_' || (was_lower && char.is_uppercase()) {
            words.push(' ');
        }
        was_lower = char.is_lowercase();
        if char != '_' {
            words.extend(char.to_lowercase());
        }
    }
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}
