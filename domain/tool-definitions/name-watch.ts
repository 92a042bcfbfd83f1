import { MAX_NAME, MAX_SCANNED } from '../../contracts/definition-scan.js';
import type { ToolClassFact } from '../../contracts/policy.js';
import type { RecordedLookalike } from '../call/record.js';
import { errorText } from '../errors.js';
import type { Log } from '../log.js';
import type { DefinitionScanner, PinOwner, ToolPinStore } from './ports.js';

/** Says which called names are taken for others. Never throws, and decides nothing: it is a fact for the call's row. */
export type NameWatch = (
  owner: PinOwner,
  classes: Readonly<Record<string, ToolClassFact>> | undefined,
) => Promise<readonly RecordedLookalike[]>;

/** Where Gate knows no list. */
export const noNameWatch: NameWatch = () => Promise.resolve([]);

/** A verdict waits for it no longer. */
const LIMIT_MS = 500;
/** Of a batch, so many names. */
const MOST_NAMES = 4;

/**
 * Looks at the names that policy was told to be in no list. Where Brain does not answer in time the call goes on, and `onDegraded` is told.
 */
export function createNameWatch({
  pins,
  scanner,
  onDegraded,
  limitMs = LIMIT_MS,
}: {
  readonly pins: Pick<ToolPinStore, 'listed'>;
  readonly scanner: Pick<DefinitionScanner, 'scanToolName'>;
  readonly onDegraded: (error: unknown) => void;
  readonly limitMs?: number;
}): NameWatch {
  async function look({ tenant, agent }: PinOwner, called: readonly string[]): Promise<RecordedLookalike[]> {
    const { names } = await pins.listed(tenant);
    const catalog = [...names].filter((name) => name.length <= MAX_NAME).slice(0, MAX_SCANNED);
    if (catalog.length === 0) return [];
    const found = await Promise.all(
      called.map(async (name) => ({
        name,
        said: await scanner.scanToolName({ agent_id: agent, tenant, called: name, catalog }),
      })),
    );
    return found.flatMap(({ name, said: { lookalike, nearest, distance, confidence, signals } }) =>
      lookalike && nearest !== null ? [{ called: name, nearest, distance, confidence, signals }] : [],
    );
  }

  return async (owner, classes = {}) => {
    const called = Object.entries(classes)
      .filter(([name, { suspended }]) => suspended === 'not_listed' && name !== '' && name.length <= MAX_NAME)
      .map(([name]) => name)
      .slice(0, MOST_NAMES);
    if (called.length === 0) return [];
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no answer within ${limitMs} ms`)), limitMs);
    });
    try {
      return await Promise.race([look(owner, called), late]);
    } catch (error) {
      onDegraded(error);
      return [];
    } finally {
      clearTimeout(timer);
    }
  };
}

/** Logs what could not be looked at, with the same message in every edition. */
export const nameWatchLog =
  (logger: Log): ((error: unknown) => void) =>
  (error) =>
    logger.warn({ reason: errorText(error) }, 'the name of a tool that no list has could not be compared');
