import { createRequire } from 'node:module';
import createInstance, { type PgQueryInstance } from 'libpg-query/wasm/libpg-query.js';

/** A node of Postgres' parse tree as libpg_query prints it. */
export type SqlNode = { readonly [field: string]: unknown };

/** The statements of a text, or null where Postgres' grammar refuses it. */
export type SqlParser = (text: string) => readonly SqlNode[] | null;

/** Found as the packages of the module that asks are found. */
export const SQL_PARSER_WASM = 'libpg-query/wasm/libpg-query.wasm';
/** Offsets in libpg_query's PgQueryParseResult. */
const RESULT = { tree: 0, error: 8 } as const;

let parser: Promise<SqlParser> | undefined;

/**
 * Postgres' own parser, one for the process. A text that makes the parser itself fail (its stack, its memory) is answered with null like
 * any other that cannot be read, and costs the instance: what its memory holds then is anybody's guess. Until the next one stands,
 * some milliseconds, every text is answered with null.
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
    // The parser reads up to the first NUL, and has no word for half a surrogate pair: a tool may read further.
    if (text === '' || text.includes('\0') || !text.isWellFormed()) return null;
    try {
      return parseWith(instance, text);
    } catch {
      instance = null;
      void instantiate().then(
        (fresh) => (instance = fresh),
        // Without a parser nothing that looks like SQL can be read, and it waits for a person.
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
