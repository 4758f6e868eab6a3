import { expect, it } from 'vitest';

import { PLAIN } from '../../output/page.ts';
import { type Finding, failed, formatDiagnosis, ok } from './diagnosis.ts';

const lastLineOf = (checks: readonly Finding[]): string | undefined =>
	formatDiagnosis({ ok: false, sidecar: '/s', service: null, checks }, PLAIN).toString().trimEnd().split('\n').at(-1);

it('a sidecar that is not ready is where to begin only if no later check has failed', () => {
	const notReady = [ok('socket', ''), failed('sidecar', 'not ready', 'the checks below say more')];
	expect(lastLineOf([...notReady, failed('registry', 'refuses', null)])).toBe('begin with: registry');
	expect(lastLineOf([...notReady, ok('registry', '')])).toBe('begin with: sidecar');
	expect(lastLineOf([failed('socket', 'nothing', null)])).toBe('begin with: socket');
});
