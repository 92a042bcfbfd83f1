import { createRequire } from 'node:module';
import createInstance, { type PgQueryInstance } from 'libpg-query/wasm/libpg-query.js';
import type { SqlNode, SqlParser } from '../../domain/sql/tree.js';

/** Resolved like any package of the importing module. */
export const SQL_PARSER_WASM = 'libpg-query/wasm/libpg-query.wasm';
/** Offsets in libpg_query's PgQueryParseResult. */
const RESULT = { tree: 0, error: 8 } as const;

let parser: Promise<SqlParser> | undefined;

/**
 * The Postgres parser, one instance per process. When a text makes the parser itself fail (stack or memory), the answer is null, as for any
 * text that cannot be parsed. The instance is then thrown away, because the state of its memory is unknown. Until the next instance is
 * ready (some milliseconds), every text gets null.
 */
export function loadSqlParser(): Promise<SqlParser> {
  parser ??= createSqlParser();
  return parser;
}

async function createSqlParser(): Promise<SqlParser> {
  const instantiate = (): Promise<PgQueryInstance> =>
    createInstance({ locateFile: () => createRequire(import.meta.url).resolve(SQL_PARSER_WASM) });
  let instance: PgQueryInstance | null = await instantiate();
  return (text) => {
    if (!instance) return null;
    // The parser stops at the first NUL and cannot represent a lone surrogate, but a tool may read on.
    if (text === '' || text.includes('\0') || !text.isWellFormed()) return null;
    try {
      return parseWith(instance, text);
    } catch {
      instance = null;
      void instantiate().then(
        (fresh) => (instance = fresh),
        // Without a parser, anything that looks like SQL counts as unreadable and waits for a reviewer.
        () => {},
      );
      return null;
    }
  };
}

function parseWith(pg: PgQueryInstance, text: string): readonly SqlNode[] | null {
  const bytes = pg.lengthBytesUTF8(text) + 1;
  const query = pg._malloc(bytes);
  pg.stringToUTF8(text, query, bytes);
  const result = pg._wasm_parse_query_raw(query);
  try {
    if (pg.getValue(result + RESULT.error, 'i32') !== 0) return null;
    const tree = JSON.parse(pg.UTF8ToString(pg.getValue(result + RESULT.tree, 'i32'))) as {
      stmts?: readonly { stmt?: SqlNode }[];
    };
    return (tree.stmts ?? []).map(({ stmt }) => stmt ?? {});
  } finally {
    pg._wasm_free_parse_result(result);
    pg._free(query);
  }
}
