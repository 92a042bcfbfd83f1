import { readFileSync } from 'node:fs';
import { errorText } from '../domain/errors.js';
import { parseProbes, type Probes } from '../domain/probes/probes.js';
import { csv, setting } from './env.js';
import { callbackBoundaries, parsedBy } from './shared.js';

const probes = parsedBy<Probes>((path) => {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`cannot be read: ${errorText(error)}`, { cause: error });
  }
  return parseProbes(text);
});

/** How Gate finds out what became of a call whose answer was lost, in the edition whose settings start with this prefix. */
export const probeSettings = <Prefix extends string>(prefix: Prefix) => ({
  probes: setting(
    `${prefix}_PROBES`,
    probes.optional(),
    'File that names for a tool how to find out whether a call of it ran (docs/how-to/name-a-probe.md). Without it a call whose answer was lost waits for a person (`gate uncertain`).',
  ),
  probeAllowlist: setting(
    `${prefix}_PROBE_ALLOWLIST`,
    callbackBoundaries,
    'URL prefixes that a probe by address must match; empty allows none.',
  ),
  probeAllowPrivate: setting(
    `${prefix}_PROBE_ALLOW_PRIVATE`,
    csv,
    'host:port pairs that probes may reach although they are not public.',
  ),
});

/** Of the full edition: the worker asks the probes. */
export const PROBE_SETTINGS = probeSettings('GATE');
