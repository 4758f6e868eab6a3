import { SpockError } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import { errnoOf, type PathFinding, reportAddress } from './address-report.ts';

const failed = (code: string): SpockError =>
	new SpockError('DISCONNECTED', 'lost', { cause: Object.assign(new Error(code), { code, syscall: 'connect' }) });
const silent = new SpockError('TIMEOUT', 'hello: no reply within 5 ms');

describe('the report of what is at an address', () => {
	it.each<[PathFinding, SpockError | undefined, string, RegExp]>([
		[
			'nothing',
			failed('ENOENT'),
			'nothing',
			/nothing at that path: start it with `npx --no-install sidecar start --socket \/s\/a --backend local --services \S+`/,
		],
		['no directory', failed('ENOENT'), 'no directory', /directory \/s does not exist/],
		['no permission', failed('EACCES'), 'no permission', /fsGroup/],
		['socket', failed('EACCES'), 'no permission', /user or group/],
		['not a socket', failed('ECONNREFUSED'), 'not a socket', /not a socket/],
		['socket', failed('ECONNREFUSED'), 'not listening', /no process listens on/],
		['socket', silent, 'no answer', /does not answer hello/],
		['socket', undefined, 'no answer', /does not answer hello:/],
		['socket', failed('EMFILE'), 'unreachable', /lost/],
	])('%s, last error %s: %s', (look, lastError, found, sentence) => {
		const report = reportAddress({ path: '/s/a' }, lastError, () => look);
		expect(report).toMatchObject({ address: '/s/a', found });
		expect(report.sentence).toMatch(sentence);
	});

	it('a port', () => {
		const address = { host: '127.0.0.1', port: 7 };
		expect(reportAddress(address, failed('ECONNREFUSED'))).toMatchObject({
			address: '127.0.0.1:7',
			found: 'not listening',
		});
		expect(reportAddress(address, failed('ENOTFOUND')).found).toBe('unreachable');
		expect(reportAddress(address, silent).found).toBe('no answer');
	});

	it('finds the errno under any number of wrappings, and is not led into a circle', () => {
		expect(errnoOf(new Error('outer', { cause: failed('EAGAIN') }))).toBe('EAGAIN');
		const circle = new Error('a');
		circle.cause = circle;
		expect(errnoOf(circle)).toBeUndefined();
		expect(reportAddress({ host: '127.0.0.1', port: 7 }, circle).found).toBe('no answer');
		expect(errnoOf(undefined)).toBeUndefined();
	});
});
