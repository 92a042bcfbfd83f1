import { readFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { CliError } from './errors.js';
import { liteHere } from './lite-target.js';

interface BridgeFlags {
  readonly endpoint?: string;
  readonly tokenFile?: string;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** `gate mcp-bridge`: an MCP server over the standard streams whose every message goes to Gate and back. */
export function registerMcpBridge(program: Command): void {
  program
    .command('mcp-bridge')
    .description(
      'be an MCP server over the standard streams, for a client that speaks no HTTP: every message goes to a running Gate and back, and no tool is run here',
    )
    .addOption(
      new Option(
        '--endpoint <url>',
        'the address of Gate, without /mcp; without it the lite process of this folder',
      ).env('GATE_ENDPOINT'),
    )
    .option('--token-file <file>', 'the access token of the agent; without it the one in GATE_TOKEN')
    .option('--ca <file>', 'the CA of Gate, where it is not one that Node knows (PEM)')
    .option('--cert <file>', 'the certificate of the agent (PEM), with --key')
    .option('--key <file>', 'its key (PEM)')
    .addHelpText(
      'after',
      `
examples:
  a client's configuration, before lite:
    { "mcpServers": { "tools": { "command": "npx", "args": ["gate", "mcp-bridge"] } } }
  before a stack, as an agent with a certificate:
    gate mcp-bridge --endpoint https://localhost:8443 --ca ca.crt --cert agent.crt --key agent.key`,
    )
    .action(async (flags: BridgeFlags) => {
      const url = addressOf(flags.endpoint ?? process.env['GATE_LITE_URL'] ?? liteHere());
      const token = flags.tokenFile === undefined ? process.env['GATE_TOKEN'] : read('--token-file', flags.tokenFile);
      if ((flags.cert === undefined) !== (flags.key === undefined))
        throw new CliError('--cert and --key are given together', 2);
      const { runMcpBridge } = await import('../adapters/mcp/stdio-bridge.js');
      await runMcpBridge({
        url,
        ...(token?.trim() && { token: token.trim() }),
        tls: {
          ...(flags.ca !== undefined && { ca: read('--ca', flags.ca) }),
          ...(flags.cert !== undefined && { cert: read('--cert', flags.cert) }),
          ...(flags.key !== undefined && { key: read('--key', flags.key) }),
        },
        // Standard output is the client's: whatever is said to a person goes beside it.
        onFault: (line) => process.stderr.write(`gate: ${line}\n`),
      });
    });
}

function addressOf(endpoint: string): URL {
  let url: URL;
  try {
    url = new URL(`${endpoint.replace(/\/$/, '')}/mcp`);
  } catch {
    throw new CliError(`--endpoint is no address: ${endpoint}`, 2);
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new CliError(`--endpoint must be http or https, and is ${url.protocol}`, 2);
  return url;
}

function read(flag: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new CliError(`${flag}: ${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`, 2);
  }
}
