import { createShellReader } from '../../domain/shell/read-shell.js';
import { loadSqlParser } from '../sql/parser.js';
import { createSqlReader } from '../../domain/sql/read-sql.js';
import type { PolicyData } from '../../domain/policy/policy-data.js';
import type { ArgumentReaders } from '../../domain/policy/policy-set.js';

export const readersOf = async ({ gate: { sql } }: PolicyData): Promise<ArgumentReaders> => ({
  readSql: createSqlReader({ parser: await loadSqlParser(), names: sql }),
  readShell: createShellReader(sql),
});
