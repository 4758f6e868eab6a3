import { expect, it } from 'vitest';

import { readRecord } from './record-format.ts';

const snapshot = { type: 'snapshot', t: 1, service: 'barista', source: 'live', instances: [] };

it.each([
	['no JSON', '{', 'it is not JSON: '],
	['no object', '[]', 'it is not a JSON object'],
	['no time', { ...snapshot, t: -1 }, 't must be a number of milliseconds from 0'],
	['no type', { t: 1 }, 'type must be a string'],
	['no service', { ...snapshot, service: '' }, 'service must be a non-empty string'],
	['another source', { ...snapshot, source: 'rumour' }, 'source must be one of '],
	['no instances', { ...snapshot, instances: null }, 'instances must be a list'],
])('a line with %s is refused with the reason', (_what, line, reason) => {
	expect(() => readRecord(typeof line === 'string' ? line : JSON.stringify(line))).toThrow(reason);
});

it('a line of a later version is passed over', () => {
	expect(readRecord('{"type":"weather","t":1}')).toBeUndefined();
	expect(readRecord(JSON.stringify(snapshot))).toMatchObject(snapshot);
});
