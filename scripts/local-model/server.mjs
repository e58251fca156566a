// Serves one GGUF file on loopback with OpenAI's chat interface, by llama.cpp as node-llama-cpp ships it.
//
// usage: node server.mjs MODEL.gguf CONTEXT_TOKENS THREADS
//
// Prints its address as the first line of stdout, one JSON object for each answer after that, and ends when stdin does.
// It has /v1/models and /v1/chat/completions (greedy, not streamed). An answer follows the JSON schema that the request
// names. A question that is larger than the context is refused in the words of llama.cpp's own server.
import { createServer } from "node:http";
import { basename } from "node:path";
import { getLlama, LlamaCompletion, LlamaLogLevel } from "node-llama-cpp";

const REQUEST_BYTES_MAX = 1 << 20;
const ANSWER_TOKENS_DEFAULT = 512;

const [path, contextSize, threads] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const name = basename(path, ".gguf");
const llama = await getLlama({ gpu: false, build: "never", maxThreads: threads, logLevel: LlamaLogLevel.error });
const model = await llama.loadModel({ modelPath: path });
const context = await model.createContext({ contextSize, threads });
const sequence = context.getSequence();
const completion = new LlamaCompletion({ contextSequence: sequence });

/** The question as ChatML, in tokens; what a message says cannot end it. */
function tokens(messages) {
  const special = (text) => model.tokenize(text, true);
  const all = messages.flatMap(({ role, content }) => [
    ...special(`<|im_start|>${role}\n`),
    ...model.tokenize(String(content), false),
    ...special("<|im_end|>\n"),
  ]);
  return [...all, ...special("<|im_start|>assistant\n")];
}

async function chat(request) {
  const prompt = tokens(request.messages ?? []);
  if (prompt.length >= contextSize) {
    return [400, { error: {
      code: 400, type: "exceed_context_size_error", n_prompt_tokens: prompt.length, n_ctx: contextSize,
      message: `request (${prompt.length} tokens) exceeds the available context size (${contextSize} tokens), try increasing it`,
    } }];
  }
  const schema = request.response_format?.json_schema?.schema;
  const grammar = schema && await llama.createGrammarForJsonSchema(schema);
  const maxTokens = Math.min(request.max_tokens ?? ANSWER_TOKENS_DEFAULT, contextSize - prompt.length);
  const begun = performance.now();
  const { response, metadata } = await completion.generateCompletionWithMeta(prompt, {
    maxTokens, grammar, temperature: request.temperature ?? 0, contextShiftSize: 1,
  });
  const answered = model.tokenize(response, false).length;
  const seconds = Math.round(performance.now() - begun) / 1000;
  const isCut = metadata.stopReason === "maxTokens";
  console.log(JSON.stringify({ seconds, tokens_in: prompt.length, tokens_out: answered, is_cut: isCut }));
  return [200, {
    id: "chatcmpl", object: "chat.completion", created: 0, model: name,
    choices: [{ index: 0, finish_reason: isCut ? "length" : "stop", message: { role: "assistant", content: response } }],
    usage: { prompt_tokens: prompt.length, completion_tokens: answered, total_tokens: prompt.length + answered },
  }];
}

async function body(request) {
  const parts = [];
  let bytes = 0;
  for await (const part of request) {
    bytes += part.length;
    if (bytes > REQUEST_BYTES_MAX) throw new Error("the request is too large");
    parts.push(part);
  }
  return JSON.parse(Buffer.concat(parts).toString("utf8"));
}

async function answer({ method, url }, request) {
  if (method === "GET" && url === "/v1/models") {
    return [200, { object: "list", data: [{ id: name, object: "model", created: 0, owned_by: "local", meta: { n_ctx: contextSize } }] }];
  }
  if (method === "POST" && url === "/v1/chat/completions") return await chat(await body(request));
  return [404, { error: { code: 404, message: "no such path", type: "not_found_error" } }];
}

// One question at a time: the model has one sequence.
let last = Promise.resolve();
const server = createServer((request, response) => {
  last = last
    .then(() => answer(request, request))
    .catch((error) => [500, { error: { code: 500, message: String(error?.message ?? error), type: "server_error" } }])
    .then(([status, said]) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(said));
    });
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
