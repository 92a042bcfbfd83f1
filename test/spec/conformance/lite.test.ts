import { join } from 'node:path';
import { mkdir } from 'node:fs/promises';
import { openLedgerReadOnly } from '../../../adapters/ledger/read-only.js';
import { keysBeside } from '../../../lite/keys.js';
import { startDemoUpstream } from '../../../demo/upstream/server.js';
import { createAgentClient } from '../../support/agent.js';
import { liteFolder, openLite } from '../../support/lite.js';
import { conformance } from './cases.js';
import { eventually } from '../../support/waiting.js';

conformance(
  'lite',
  async () => {
    const dataDir = join(await liteFolder(), 'tools');
    await mkdir(dataDir, { recursive: true });
    const tools = await startDemoUpstream({ dataDir, port: 0 });
    const gate = await openLite({ GATE_LITE_UPSTREAM_URL: tools.url, GATE_LITE_UPSTREAM_ADAPTER: 'mcp-jsonrpc-v1' });
    const bot = createAgentClient(gate.lite.url, { ca: '' });
    const reading = async <Found>(look: (ledger: ReturnType<typeof openLedgerReadOnly>) => Promise<Found>) => {
      const ledger = openLedgerReadOnly(gate.ledger, { sidecarKeys: keysBeside(gate.ledger) });
      try {
        return await look(ledger);
      } finally {
        await ledger.close();
      }
    };
    return {
      bot,
      decide: (correlationId, decision, reason) =>
        bot.request('POST', `/decide/${correlationId}`, {
          body: { decision, ...(reason !== undefined && { reason }) },
          headers: { authorization: `Bearer ${gate.lite.ownDecideToken?.token ?? ''}` },
        }),
      rows: (correlationId, last) =>
        eventually(`the row ${last}`, async () => {
          const rows = await reading((ledger) => ledger.byCorrelation(correlationId));
          return rows.some((row) => row.event_kind === last) && rows;
        }),
      verify: () => reading((ledger) => ledger.verify()),
      async stop() {
        await bot.close();
        await gate.close();
        await tools.close();
      },
    };
  },
  30_000,
);
