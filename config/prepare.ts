import { z } from 'zod';
import { setting } from './env.js';
import { parsedBy, ENGINE_SETTINGS } from './shared.js';

/** A login role of Postgres. A role that owns databases uses only those; one that owns none creates its schema in Gate's database. */
export interface DatabaseRole {
  readonly name: string;
  readonly password: string;
  readonly owns: readonly string[];
}

const NAME = /^[a-z_][a-z0-9_]{0,62}$/;
const PASSWORD = /^[A-Za-z0-9_-]{24,128}$/;

/** `name:password[:database+database…][,…]`. The error names the wrong entry, never a password. */
export function parseDatabaseRoles(text: string): readonly DatabaseRole[] {
  return text.split(',').map((entry, index) => {
    const [name = '', password = '', databases = ''] = entry.trim().split(':');
    const owns = databases === '' ? [] : databases.split('+');
    if (!NAME.test(name) || !owns.every((database) => NAME.test(database)))
      throw new Error(`entry ${index + 1}: a role is written name:password[:database+database…]`);
    if (!PASSWORD.test(password)) throw new Error(`the password of ${name} is not 24 to 128 letters, digits, _ or -`);
    return { name, password, owns };
  });
}

const { namespace, tlsCaFile, tlsCertFile, tlsKeyFile, tlsServerName } = ENGINE_SETTINGS;

/** What the one-shot jobs read that make a database and an engine ready for Gate: `gate prepare database|engine`. */
export const PREPARE_SETTINGS = {
  database: {
    adminUrl: setting(
      'GATE_ADMIN_DATABASE_URL',
      z.string().regex(/^postgres(ql)?:\/\//, 'must be a postgres:// URL'),
      "Gate's database as a role that may create roles and databases.",
      { secret: true },
    ),
    roles: setting(
      'GATE_DATABASE_ROLES',
      parsedBy(parseDatabaseRoles),
      'Roles to have: name:password[:database+database…][,…]; one without databases makes its schema in the database of the URL.',
      { secret: true },
    ),
  },
  engine: {
    address: setting('GATE_TEMPORAL_ADDRESS', z.string().min(1), 'host:port of the workflow engine.'),
    namespace,
    tlsCaFile,
    tlsCertFile,
    tlsKeyFile,
    tlsServerName,
  },
} as const;
