import { z } from 'zod';
import { storableString, toolName } from '../../contracts/storable.js';
import { errorText } from '../errors.js';
import { isPointer } from '../json-pointer.js';

/**
 * The probes that an operator wrote down (docs/how-to/name-a-probe.md): for a tool, how to find out whether a call of it had its effect.
 * A probe reads, and only reads.
 */
export type Probes = ReadonlyMap<string, Probe>;

const pointer = storableString(0, 512).refine(isPointer, 'is no JSON Pointer (RFC 6901)');
const ofCall = pointer.refine(
  (text) => /^\/(?:arguments(?:\/|$)|correlation_id$|idempotency_id$)/.test(text),
  'points neither into /arguments nor to /correlation_id or /idempotency_id',
);
const scalar = z.union([storableString(0, 256), z.number(), z.boolean(), z.null()]);
/** What the probe is asked with: a part of the call, or a fixed value. */
const given = z.union([z.strictObject({ from: ofCall }), z.strictObject({ value: scalar })]);
/** A place in the answer, and what it must hold. */
const sign = z.strictObject({ at: pointer, is: z.array(scalar).min(1).max(32) });

const common = {
  /** What proves that the tool ran. */
  completed: sign,
  /** What proves that it did not. Without it, the probe can only prove that it did. */
  not_run: sign.optional(),
  first_after_secs: z.number().int().min(0).max(86_400).default(1),
  /** A pause is twice the one before, up to this. */
  every_secs_at_most: z.number().int().min(1).max(86_400).default(3_600),
  attempts: z.number().int().min(1).max(32).default(12),
  /** An effect may come late: before this time a missing one proves nothing. */
  not_run_after_secs: z.number().int().min(0).max(604_800).default(60),
  timeout_secs: z.number().int().min(1).max(30).default(10),
};
const byTool = z.strictObject({ tool: toolName, arguments: z.record(z.string(), given).default({}), ...common });
const byUrl = z.strictObject({
  url: z.url({ protocol: /^https?$/ }),
  query: z.record(z.string(), given).default({}),
  ...common,
});
const probe = z.union([byTool, byUrl]);

export type Probe = z.infer<typeof probe>;
export type ToolProbe = z.infer<typeof byTool>;
export type UrlProbe = z.infer<typeof byUrl>;
export type Sign = z.infer<typeof sign>;
export type Given = z.infer<typeof given>;

export const isToolProbe = (one: Probe): one is ToolProbe => 'tool' in one;

/** How people and rows call a probe. The query of an address is left out. */
export const nameOf = (one: Probe): string => {
  if (isToolProbe(one)) return one.tool;
  const { origin, pathname } = new URL(one.url);
  return `${origin}${pathname}`;
};

const file = z.strictObject({ contract: z.literal('gate.probes/v1'), probes: z.record(toolName, z.unknown()) });

/** Reads the probes from their file's text. Throws, naming the tool and the fault. */
export function parseProbes(text: string): Probes {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch (error) {
    throw new Error(`is no JSON: ${errorText(error)}`, { cause: error });
  }
  const whole = file.safeParse(read);
  if (!whole.success) throw new Error(faultsOf(whole.error));
  return new Map(
    Object.entries(whole.data.probes).map(([tool, written]) => {
      const kind = typeof written === 'object' && written !== null && 'url' in written ? byUrl : byTool;
      const known = kind.safeParse(written);
      if (!known.success) throw new Error(`the probe of ${tool}: ${faultsOf(known.error)}`);
      const fault = faultOf(tool, known.data);
      if (fault !== null) throw new Error(`the probe of ${tool}: ${fault}`);
      return [tool, known.data] as const;
    }),
  );
}

function faultOf(tool: string, one: Probe): string | null {
  if (isToolProbe(one) && one.tool === tool) return 'it would be the tool itself, which Gate never runs again';
  if (
    isToolProbe(one)
      ? Object.keys(one.arguments).length === 0
      : !new URL(one.url).search && Object.keys(one.query).length === 0
  )
    return 'it asks about no call: give it a part of the call';
  const { completed, not_run: notRun } = one;
  if (notRun && notRun.at === completed.at && notRun.is.some((value) => completed.is.includes(value)))
    return 'one answer would prove that the tool ran, and that it did not';
  return null;
}

const faultsOf = (error: z.ZodError): string =>
  error.issues.map(({ path, message }) => `${path.join('.') || 'the file'}: ${message}`).join('; ');

/**
 * Why a probe cannot be used: it is not known to read, or its address is not allowed. A tool whose call may change something is never a
 * probe, whatever it is named for.
 */
export function refusedProbe(
  probes: Probes,
  { reads, mayReach }: { readonly reads: (tool: string) => boolean; readonly mayReach: (url: string) => void },
): string | null {
  for (const [tool, one] of probes) {
    if (isToolProbe(one)) {
      if (!reads(one.tool))
        return `the probe of ${tool}: ${one.tool} is no reading tool, by its name or by the rules' data, and a probe may change nothing`;
    } else {
      try {
        mayReach(one.url);
      } catch (error) {
        // Its query may hold a key.
        return `the probe of ${tool}: ${nameOf(one)}: ${errorText(error).replaceAll(one.url, nameOf(one))}`;
      }
    }
  }
  return null;
}

/** How long after its last step a call is probed again. */
export const pauseMs = ({ first_after_secs, every_secs_at_most }: Probe, steps: number): number =>
  1_000 *
  (steps === 0
    ? first_after_secs
    : Math.min(every_secs_at_most, Math.max(1, first_after_secs) * 2 ** Math.min(steps, 20)));
