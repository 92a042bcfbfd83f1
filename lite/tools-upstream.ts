import type { Logger } from 'pino';
import type { Found } from '../activities/detected-upstream.js';
import type { Env } from '../config/env.js';
import type { LiteConfig } from '../config/lite.js';
import { upstreamsLog } from '../domain/upstream/upstreams-log.js';
import type { Upstream } from '../domain/upstream/upstream.js';

/** An MCP server to run as a child. */
export interface ToolsChild {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** The tools behind lite; `start` is of a child alone, `look` of an address at which Gate is to find out what stands there. */
export type LiteTools = Upstream & { start?(): Promise<void>; look?(): Promise<Found> };

const CHILD_END_PAUSE_MS = 250;

/** The settings that say where the tools are. */
export type ToolsSettings = Pick<LiteConfig, 'upstreams' | 'upstreamUrl' | 'upstreamApiKey' | 'upstreamAdapter'>;

export async function upstreamOf(
  config: ToolsSettings,
  child: ToolsChild | undefined,
  logger: Logger,
  stopping: () => boolean,
  env: Env,
): Promise<LiteTools | null> {
  if (child) {
    const { createStdioUpstream } = await import('../activities/stdio-upstream.js');
    // Ctrl-C in a terminal ends the child too, at the same moment as it asks for the stop.
    const warn = (reason: string) => setTimeout(() => stopping() || logger.warn(reason), CHILD_END_PAUSE_MS).unref();
    return createStdioUpstream({ ...child, onRestart: warn });
  }
  if (config.upstreams) {
    const { openUpstreams } = await import('../workers/upstreams.js');
    return openUpstreams(config.upstreams, { env, ...upstreamsLog(logger) });
  }
  const { upstreamUrl: url, upstreamApiKey: apiKey, upstreamAdapter } = config;
  if (!url) return null;
  const target = { url, ...(apiKey && { apiKey }) };
  if (upstreamAdapter === 'auto') return (await import('../activities/detected-upstream.js')).detectUpstream(target);
  if (upstreamAdapter === 'raw-json')
    return (await import('../activities/json-upstream.js')).createJsonUpstream(target);
  return (await import('../activities/mcp-upstream.js')).createMcpUpstream(target);
}
