import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe } from '@jest/globals';
import { type Edition, EDITIONS } from '../../support/editions.js';
import { liteFolder } from '../../support/lite.js';
import { drift } from './drift.js';
import { firstList } from './first-list.js';
import { pins } from './pins.js';
import { responses } from './responses.js';
import { reviewedDefinitions } from './reviewed-definitions.js';
import { type Section, STARTS, type Subject } from './section.js';
import { toldInstructions } from './told-instructions.js';
import { toolDefinitions } from './tool-definitions.js';

const SECTIONS = [responses, reviewedDefinitions, drift, toldInstructions, toolDefinitions, firstList];

/** One address for the tools of all sections: requests go to those of the section that runs. */
async function upstream() {
  let tools: Server | undefined;
  const server = createServer((request, response) => void tools?.emit('request', request, response));
  // As in the tools themselves: a client may be silent for long before it asks again.
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    is: (next: Server) => void (tools = next),
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

/**
 * What holds in both editions, in one file: starts of the full stack take most of its time, so all sections share each of them. An agent
 * has pins and a history of its own; in lite there is one agent, so there each section has a lite of its own, which starts at once.
 */
describe.each([
  ['the full stack', [[...SECTIONS, pins]]],
  ['lite', SECTIONS.map((one) => [one])],
] as const)('%s', (edition, groups) => {
  const [, open, startLimitMs] = EDITIONS.find(([name]) => name === edition) ?? EDITIONS[0];

  describe.each(groups.map((sections) => ({ sections })))('', ({ sections }: { sections: readonly Section[] }) => {
    let folder: string;
    let front: Awaited<ReturnType<typeof upstream>>;
    let gate: Edition | undefined;
    const subjects = new Map<Section, Subject>(sections.map((one) => [one, {} as Subject]));
    beforeAll(async () => {
      folder = await liteFolder();
      front = await upstream();
      for (const [{ tools }, at] of subjects) at.tools = await tools();
    });
    afterAll(async () => {
      await gate?.stop();
      for (const { tools } of subjects.values()) await tools?.close();
      await front?.close();
      await rm(folder, { recursive: true, force: true });
    });

    describe.each(STARTS.filter(({ how }) => sections.some(({ cases }) => cases[how])))(
      '$how',
      ({ how, settings, blocks }) => {
        beforeAll(async () => {
          await gate?.stop();
          gate = undefined;
          gate = await open({ url: front.url, folder, agent: 'support-bot', settings, blocks });
        }, startLimitMs);

        for (const [one, at] of subjects) {
          const cases = one.cases[how];
          if (!cases) continue;
          describe(one.name, () => {
            beforeAll(async () => {
              front.is(at.tools.server);
              if (!gate) throw new Error('no Gate was started');
              const { bot, id } = await gate.agent(one.agent);
              Object.assign(at, { gate, bot, agentId: id });
            });
            cases(at);
          });
        }
      },
    );
  });
});
