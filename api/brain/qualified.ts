import { readFileSync } from 'node:fs';
import { StartError } from '../../config/start-error.js';
import type { QualificationReport } from '../../contracts/brain-qualification.js';
import { shippedCorpus } from '../../adapters/models/qualification-corpus.js';
import { errorText } from '../../domain/errors.js';
import { qualifiedBy } from '../../domain/models/qualification/standing.js';
import type { HeuristicLevel } from '../../domain/inspection/texts.js';
import type { Routing } from '../../domain/models/routing.js';
import { foreignText } from '../../domain/text.js';

function jsonIn(report: string): unknown {
  let text: string;
  try {
    text = readFileSync(report, 'utf8');
  } catch (error) {
    throw new Error(`the file: cannot be read (${(error as NodeJS.ErrnoException).code ?? 'error'})`, { cause: error });
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error('the file: is no report of `gate brain qualify`', { cause: error });
  }
}

/** The report by which these models may judge. Throws StartError, naming the field of the report that speaks against it. */
export function qualifyingReport(
  report: string,
  routing: Routing,
  level: HeuristicLevel,
  now = Date.now(),
): QualificationReport {
  try {
    return qualifiedBy(jsonIn(report), { routing, level, corpusSha256: shippedCorpus().sha256, now });
  } catch (error) {
    throw new StartError(
      `GATE_BRAIN_REQUIRE_QUALIFIED: models_not_qualified: ${foreignText(errorText(error), 300)}; run \`gate brain qualify --report\``,
      { cause: error },
    );
  }
}
