import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import fastify from 'fastify';
import { openLocalFile, type LocalFile } from '../adapters/store/local-file.js';
import { answerQuestions, ownCpuMs } from './child.js';

/**
 * What any durable gate behind this HTTP server costs at least: the body is parsed, one row is inserted, and the answer leaves after the sync
 * to disk that the row shares with all others of its group.
 */
const app = fastify({ logger: false });
let file: LocalFile | undefined;

const answers = {
  async start({ ledger }: { ledger: string }): Promise<string> {
    mkdirSync(dirname(ledger), { recursive: true });
    const opened = await openLocalFile({ file: ledger, migrations: {} });
    file = opened;
    opened.connection.exec('create table floor (id integer primary key, body text not null)');
    const insert = opened.connection.prepare('insert into floor (body) values (?)');
    app.post('/mcp', async (request) => {
      const text = JSON.stringify(request.body);
      opened.apply(() => insert.run(text));
      await opened.durable();
      return { stored: true };
    });
    return app.listen({ host: '127.0.0.1', port: 0 });
  },
  cpuMs: async (): Promise<number> => ownCpuMs(),
};
export type LiteFloorQuestions = typeof answers;

answerQuestions(answers, async () => {
  await app.close();
  await file?.close();
});
