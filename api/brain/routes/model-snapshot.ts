import { modelSnapshot } from '../../../contracts/inspection.js';
import type { ReadyInspector } from '../../../domain/inspection/port.js';
import type { ServiceApp } from '../../plugins/app.js';

/** What judges here now: the console shows it beside what a row was judged with. Asks no model. */
export function modelSnapshotRoutes(app: ServiceApp, inspector: Pick<ReadyInspector, 'snapshot'>): void {
  app.get('/model-snapshot', { schema: { response: { 200: modelSnapshot } } }, () => inspector.snapshot());
}
