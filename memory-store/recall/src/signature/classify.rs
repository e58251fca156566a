//! Classification of commands by program and verb.

use super::command::{program_name, program_words};
use super::shell::{self, SimpleCommand};

/// Purpose of a command, as a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CommandClass {
    /// Builds something that can run.
    Build,
    /// Runs tests.
    Test,
    /// Checks for mistakes without running the program: linters, type checkers.
    Lint,
    /// Rewrites sources in an agreed format.
    Format,
    /// Starts the program or a development server.
    Run,
    /// Fetches or updates dependencies.
    Install,
    /// Changes the schema or the data of a database.
    Migrate,
    /// Generates sources, documents or schemas from other files.
    Generate,
    /// Measures performance.
    Bench,
    /// Deploys, publishes or releases.
    Deploy,
}

use CommandClass::{Bench, Build, Deploy, Format, Generate, Install, Lint, Migrate, Run, Test};

impl CommandClass {
    /// Returns the name for display.
    pub const fn name(self) -> &'static str {
        match self {
            Build => "build",
            Test => "test",
            Lint => "lint",
            Format => "format",
            Run => "run",
            Install => "install",
            Migrate => "migrate",
            Generate => "generate",
            Bench => "bench",
            Deploy => "deploy",
        }
    }
}

/// Programs with a single purpose, whatever their arguments.
const PROGRAMS: &[(CommandClass, &str)] = &[
    (
        Test,
        "pytest py.test tox nox jest vitest mocha ava jasmine karma cypress rspec phpunit \
         pest ctest bats busted ginkgo gotestsum nextest cargo-nextest playwright minitest \
         behave cucumber shunit2 xctest stest hspec tap prove trial nosetests nunit3-console",
    ),
    (
        Lint,
        "eslint tslint stylelint oxlint biome flake8 pylint ruff mypy pyright basedpyright \
         pyre bandit tsc vue-tsc svelte-check golangci-lint staticcheck revive shellcheck \
         hadolint yamllint markdownlint actionlint rubocop standardrb sorbet steep phpstan \
         psalm phpcs ktlint detekt swiftlint clang-tidy cppcheck cpplint credo dialyzer hlint \
         tflint ansible-lint cargo-deny cargo-audit semgrep commitlint knip checkstyle buf \
         sqlfluff vale typos codespell",
    ),
    (
        Format,
        "prettier rustfmt black isort yapf autopep8 gofmt goimports gofumpt clang-format \
         dprint shfmt ormolu fourmolu stylua taplo php-cs-fixer swiftformat \
         google-java-format nixfmt alejandra dart-format erb-format",
    ),
    (
        Build,
        "make gmake ninja cmake meson bazel bazelisk buck2 scons ant webpack rollup esbuild \
         tsup parcel swc javac gcc g++ clang clang++ cc rustc ghc xcodebuild msbuild \
         wasm-pack trunk sbt gradle gradlew mvn mvnw stack cabal zig nimble dune rebar3 \
         pyinstaller hugo jekyll mkdocs sphinx-build pdflatex latexmk tectonic",
    ),
    (
        Run,
        "uvicorn gunicorn flask streamlit nodemon node tsx ts-node python python3 ruby php \
         java deno perl lua julia rscript iex elixir vite next nuxt astro remix electron expo \
         air caddy ollama",
    ),
    (Install, "pip pip3 pipx brew apt apt-get dnf apk gem conda mamba"),
    (Migrate, "alembic flyway liquibase diesel sqlx prisma knex goose dbmate atlas"),
    (
        Generate,
        "protoc swagger openapi-generator graphql-codegen sqlc bindgen cbindgen typedoc jsdoc",
    ),
    (Bench, "hyperfine wrk ab k6 criterion"),
    (
        Deploy,
        "terraform pulumi ansible-playbook kubectl helm flyctl fly vercel netlify wrangler \
         serverless cdk sam gcloud eb twine goreleaser",
    ),
];

/// Programs whose first argument, the verb, determines the class.
const DRIVERS: &str = "cargo go npm pnpm yarn bun npx bunx pnpx deno uv poetry pdm hatch rye pipenv bundle \
         rake rails composer artisan mix swift flutter dart dotnet mvn mvnw gradle gradlew \
         sbt stack cabal zig make gmake just task mage invoke nx turbo lerna moon bazel \
         bazelisk docker podman docker-compose python python3 node php ruby pip pip3 brew apt \
         apt-get dnf apk gem conda ng vue nest next vite biome ruff prisma manage.py cmake \
         meson ninja dune rebar3 nimble helm kubectl terraform gcloud deno";

/// Verbs by class, which are the same for all drivers.
const VERBS: &[(CommandClass, &str)] = &[
    (
        Test,
        "test tests t spec check-test nextest e2e verify coverage unittest runtest testunit \
         tst",
    ),
    (
        Lint,
        "lint clippy check vet typecheck type-check types analyze analyse credo dialyzer \
         validate audit doctor-lint",
    ),
    (Format, "fmt format fix prettier"),
    (Build, "build b compile package assemble bundle dist pack publish-local jar buildx"),
    (Run, "run start dev serve server preview watch up runserver exec bootrun"),
    (
        Install,
        "install i ci add sync update upgrade restore get deps.get fetch lock remove \
         uninstall",
    ),
    (Migrate, "migrate db:migrate migration ecto.migrate db:seed seed db makemigrations"),
    (Generate, "generate gen codegen doc docs g tidy"),
    (Bench, "bench benchmark"),
    (Deploy, "deploy publish release push apply"),
];

/// Words of drivers that precede the actual verb, as in `npm run lint` and `uv run pytest`.
const LEADS: &str = "run run-script exec tool x compose dlx -m artisan manage.py mod";

/// Returns whether a space-separated list of words contains this one.
fn lists(words: &str, word: &str) -> bool {
    words.split_ascii_whitespace().any(|known| known == word)
}

/// Returns the purpose of a command line, determined by the first of its programs that has a known class; `None` if no
/// program has one.
pub fn classify(line: &str) -> Option<CommandClass> {
    shell::split(line).iter().find_map(class_of)
}

fn class_of(command: &SimpleCommand) -> Option<CommandClass> {
    words_class(program_words(command))
}

fn words_class(words: &[String]) -> Option<CommandClass> {
    let (program, rest) = words.split_first()?;
    let program = program_name(program).to_ascii_lowercase();
    if lists(DRIVERS, &program)
        && let Some(class) = verb_class(&program, rest)
    {
        return Some(class);
    }
    let alone = PROGRAMS.iter().find(|(_, names)| lists(names, &program));
    match alone {
        Some(&(Lint, _)) if rewrites(&program, rest) => Some(Format),
        Some(&(class, _)) => Some(class),
        None => script_class(&program),
    }
}

/// Returns whether a linter's arguments make it rewrite sources: `biome format` and `ruff format` do, while `ruff check
/// --fix` counts as linting.
fn rewrites(program: &str, rest: &[String]) -> bool {
    matches!(program, "biome" | "ruff") && rest.iter().any(|word| word == "format")
}

fn verb_class(program: &str, rest: &[String]) -> Option<CommandClass> {
    let mut operands =
        rest.iter().enumerate().filter(|(_, word)| !word.starts_with('-') || *word == "-m");
    let (at, first) = operands.next()?;
    if lists(LEADS, first) {
        // `cargo run` and `go run` run the project, while `npm run lint` and `uv run pytest` run something with a known
        // class.
        let wraps = !matches!(program, "cargo" | "go" | "dotnet" | "swift" | "flutter" | "mix");
        let named = operands.next().filter(|_| wraps);
        if let Some((next, _)) = named
            && let Some(class) = words_class(&rest[next..]).or_else(|| name_class(&rest[next]))
        {
            return Some(class);
        }
    }
    let names_another = matches!(
        program,
        "npx" | "bunx" | "pnpx" | "bundle" | "python" | "python3" | "node" | "php"
    );
    if names_another && let Some(class) = words_class(&rest[at..]) {
        return Some(class);
    }
    name_class(first)
}

/// Returns the class of a verb, or of a script whose name contains a verb, such as `test:unit`, `build-web` and
/// `lint.sh`.
fn name_class(name: &str) -> Option<CommandClass> {
    let name = name.trim_matches(['"', '\'']).to_ascii_lowercase();
    let exact =
        |word: &str| VERBS.iter().find(|(_, verbs)| lists(verbs, word)).map(|&(class, _)| class);
    exact(&name).or_else(|| {
        name.split([':', '-', '_', '.', '/']).filter(|part| part.len() > 2).find_map(exact)
    })
}

/// Returns the class of a project's own script, determined by its name, as for `./scripts/test` and `run-tests.sh`.
fn script_class(program: &str) -> Option<CommandClass> {
    let stem = program.split('.').next().unwrap_or(program);
    let known = |word: &str| {
        VERBS
            .iter()
            .find(|(_, verbs)| lists(verbs, word) && word.len() > 3)
            .map(|&(class, _)| class)
    };
    known(stem).or_else(|| stem.split(['-', '_']).find_map(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_and_verbs_of_many_ecosystems_are_known() {
        let check = |line: &str, class: Option<CommandClass>| {
            assert_eq!(classify(line), class, "{line}");
        };
        check("cargo test -p core", Some(Test));
        check("cargo clippy --all-targets -- -D warnings", Some(Lint));
        check("cargo fmt --check", Some(Format));
        check("cargo run --bin x -- test", Some(Run));
        check("npm test", Some(Test));
        check("npm run lint", Some(Lint));
        check("pnpm run build:web", Some(Build));
        check("bun run dev", Some(Run));
        check("npx vitest run", Some(Test));
        check("npx tsc --noEmit", Some(Lint));
        check("uv run pytest -q", Some(Test));
        check("poetry run ruff check .", Some(Lint));
        check("ruff format .", Some(Format));
        check("python -m pytest tests", Some(Test));
        check("python -m http.server", Some(Run));
        check("python manage.py migrate", Some(Migrate));
        check("pip install -r requirements.txt", Some(Install));
        check("go test ./...", Some(Test));
        check("go vet ./...", Some(Lint));
        check("go build ./cmd/x", Some(Build));
        check("./gradlew :app:test", Some(Test));
        check("mvn -q verify", Some(Test));
        check("mvn package", Some(Build));
        check("dotnet test", Some(Test));
        check("bundle exec rspec", Some(Test));
        check("mix test", Some(Test));
        check("make", Some(Build));
        check("make lint", Some(Lint));
        check("docker compose up -d", Some(Run));
        check("docker build -t x .", Some(Build));
        check("./scripts/test", Some(Test));
        check("cd web && npm ci", Some(Install));
        check("git status", None);
        check("ls -la", None);
        check("gh pr list", None);
    }
}
