import type { Store } from '../store/database.js';

export interface ToolPinTables {
  tool_pins: { tenant: string; agent: string; tool: string; sha256: string; pinned_at: string };
  tool_pin_lists: { tenant: string; agent: string; completed_at: string };
}

/** Whose list of tools is pinned. */
export interface PinOwner {
  readonly tenant: string;
  readonly agent: string;
}

/** What an agent's tools looked like at first: digest by tool. `complete` once a whole list was seen. */
export interface PinnedTools {
  readonly digests: ReadonlyMap<string, string>;
  /** When the first of them was pinned, ISO 8601: another moment after they were let go. */
  readonly since: string | null;
  readonly complete: boolean;
}

/** Keeps what was seen first; nothing replaces it but `forget`. */
export interface ToolPinStore {
  read(owner: PinOwner): Promise<PinnedTools>;
  /** A tool that is pinned already stays as it is. */
  pin(owner: PinOwner, digests: ReadonlyMap<string, string>): Promise<void>;
  complete(owner: PinOwner): Promise<void>;
  owners(): Promise<(PinOwner & { readonly tools: number; readonly since: string })[]>;
  /** The next list is the first again. Returns how many tools were pinned. */
  forget(owner: PinOwner): Promise<number>;
}

const ROWS_AT_ONCE = 500;

export function toolPinStoreOver({ db }: Store<ToolPinTables>, now: () => number = Date.now): ToolPinStore {
  const time = () => new Date(now()).toISOString();
  return {
    async read({ tenant, agent }) {
      const rows = await db
        .selectFrom('tool_pins')
        .select(['tool', 'sha256', 'pinned_at'])
        .where('tenant', '=', tenant)
        .where('agent', '=', agent)
        .execute();
      const list = await db
        .selectFrom('tool_pin_lists')
        .select('completed_at')
        .where('tenant', '=', tenant)
        .where('agent', '=', agent)
        .executeTakeFirst();
      return {
        digests: new Map(rows.map(({ tool, sha256 }) => [tool, sha256])),
        since: rows.map(({ pinned_at }) => pinned_at).toSorted()[0] ?? null,
        complete: list !== undefined,
      };
    },
    async pin({ tenant, agent }, digests) {
      const pinned_at = time();
      const rows = [...digests].map(([tool, sha256]) => ({ tenant, agent, tool, sha256, pinned_at }));
      // A statement takes some ten thousand values at most.
      for (let from = 0; from < rows.length; from += ROWS_AT_ONCE)
        await db
          .insertInto('tool_pins')
          .values(rows.slice(from, from + ROWS_AT_ONCE))
          .onConflict((conflict) => conflict.columns(['tenant', 'agent', 'tool']).doNothing())
          .execute();
    },
    async complete({ tenant, agent }) {
      await db
        .insertInto('tool_pin_lists')
        .values({ tenant, agent, completed_at: time() })
        .onConflict((conflict) => conflict.columns(['tenant', 'agent']).doNothing())
        .execute();
    },
    async owners() {
      const rows = await db
        .selectFrom('tool_pins')
        .select(({ fn }) => [
          'tenant',
          'agent',
          fn.countAll<number | string>().as('tools'),
          fn.min('pinned_at').as('since'),
        ])
        .groupBy(['tenant', 'agent'])
        .orderBy('tenant')
        .orderBy('agent')
        .execute();
      return rows.map((row) => ({ ...row, tools: Number(row.tools) }));
    },
    async forget({ tenant, agent }) {
      await db.deleteFrom('tool_pin_lists').where('tenant', '=', tenant).where('agent', '=', agent).execute();
      const { numDeletedRows } = await db
        .deleteFrom('tool_pins')
        .where('tenant', '=', tenant)
        .where('agent', '=', agent)
        .executeTakeFirst();
      return Number(numDeletedRows);
    },
  };
}
