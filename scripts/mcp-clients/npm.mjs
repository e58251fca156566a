// Asks an MCP server through one of the npm SDKs what lines of JSON on standard input say, and prints an answer to
// each, in the order in which they come: tests/src/bin/e2e_mcp_clients.rs knows what to ask.
//
// usage: node npm.mjs v1|v2-auto|v2-legacy PROGRAM
import { createInterface } from "node:readline";

const [sdk, program] = process.argv.slice(2);

async function begin() {
  const about = { name: "throughline-e2e", version: "1" };
  if (sdk === "v1") {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
    return [new Client(about), StdioClientTransport];
  }
  const { Client } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  return [new Client(about, { versionNegotiation: { mode: sdk.replace("v2-", "") } }), StdioClientTransport];
}

const [client, StdioClientTransport] = await begin();
// The SDK passes on a few variables only; ours are said as a user would say them in a client's settings.
const ours = Object.entries(process.env).filter(([name]) => name.startsWith("THROUGHLINE"));
const transport = new StdioClientTransport({ command: program, env: Object.fromEntries(ours), stderr: "inherit" });

// The first generation tells the version to its transport alone.
transport.setProtocolVersion ??= (version) => {
  transport.negotiated = version;
};

const what = {
  connect: async () => {
    await client.connect(transport);
    const { name } = client.getServerVersion();
    const protocol = client.getNegotiatedProtocolVersion?.() ?? transport.negotiated;
    return { name, protocol, instructions: client.getInstructions() };
  },
  tools: async () => client.listTools(),
  prompts: async () => client.listPrompts(),
  resources: async () => client.listResources(),
  templates: async () => client.listResourceTemplates(),
  call: async ({ name, arguments: given }) => client.callTool({ name, arguments: given }),
  prompt: async ({ name, arguments: given }) => client.getPrompt({ name, arguments: given }),
  read: async ({ uri }) => client.readResource({ uri }),
  // The newer era has no ping; a client asks the server who it is.
  ping: async () => (sdk === "v2-auto" ? client.discover() : client.ping()),
  close: async () => client.close(),
};

const print = (answer) => process.stdout.write(`${JSON.stringify(answer)}\n`);
// Each begins at once: one that takes long must not keep the next from being asked.
for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  what[asked.do](asked).then(
    (result) => print({ id: asked.id, result: result ?? null }),
    (error) => print({ id: asked.id, error: String(error?.message ?? error) }),
  );
}
