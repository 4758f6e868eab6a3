import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { SpockError } from '@spock/protocol';
import { UNTRUSTED_DIRECTORY } from '@spock/protocol/node';
import { afterEach, describe, expect, it, vi } from 'vitest';

import { errnoOf, lookAtPath, type PathFinding, reportAddress } from './address-report.ts';

const failed = (code: string): SpockError =>
	new SpockError('DISCONNECTED', 'lost', { cause: Object.assign(new Error(code), { code, syscall: 'connect' }) });
const silent = new SpockError('TIMEOUT', 'hello: no reply within 5 ms');

describe('the report of what is at an address', () => {
	it.each<[PathFinding, SpockError | undefined, string, RegExp]>([
		[
			'nothing',
			failed('ENOENT'),
			'nothing',
			/^there is nothing at that path: start a sidecar \(`npx @spock\/sidecar start --socket \/s\/a`; in a pod check that its container runs and mounts the same volume\)$/,
		],
		['no directory', failed('ENOENT'), 'no directory', /directory \/s does not exist/],
		['no permission', failed('EACCES'), 'no permission', /fsGroup/],
		['no permission', undefined, 'no permission', /lacks permission/],
		['socket', failed('EACCES'), 'no permission', /user or group/],
		['socket', failed('EPERM'), 'no permission', /user or group/],
		['socket', failed(UNTRUSTED_DIRECTORY), 'untrusted directory', /^lost$/],
		['socket', new SpockError('ACL_DENIED', 'no such token'), 'denied', /client: no such token \(option `token`\)$/],
		['not a socket', failed('ECONNREFUSED'), 'not a socket', /not a socket/],
		['socket', failed('ECONNREFUSED'), 'not listening', /no process listens on/],
		[
			'socket',
			silent,
			'no answer',
			/answer hello \(hello: no reply within 5 ms\): check that it is a sidecar, and its log$/,
		],
		['socket', undefined, 'no answer', /does not answer hello: check/],
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
			sentence: expect.stringMatching(
				/^no process listens there: start a sidecar \(`npx @spock\/sidecar start --listen 127\.0\.0\.1:7`; in a pod check that its container runs\)$/,
			),
		});
		expect(reportAddress(address, failed('EACCES')).found).toBe('unreachable');
		expect(reportAddress(address, failed('ENOTFOUND')).found).toBe('unreachable');
		expect(reportAddress(address, silent)).toMatchObject({
			found: 'no answer',
			sentence: expect.stringMatching(/is a sidecar, whether it wants TLS, and its log$/),
		});
	});

	it.each(['DEPTH_ZERO_SELF_SIGNED_CERT', 'ERR_TLS_CERT_ALTNAME_INVALID', 'ERR_SSL_WRONG_VERSION_NUMBER', 'EPROTO'])(
		'a TLS connection that fails with %s',
		(code) => {
			const cause = Object.assign(new Error('no trust'), { code });
			const lost = new SpockError('DISCONNECTED', 'lost', { cause });
			expect(reportAddress({ host: '127.0.0.1', port: 7 }, lost)).toMatchObject({
				found: 'tls',
				sentence: `the TLS connection fails with ${code}: lost`,
			});
		},
	);

	it('finds the errno under seven wrappings, and is not led into a circle', () => {
		expect(errnoOf(new Error('outer', { cause: failed('EAGAIN') }))).toBe('EAGAIN');
		const wrapped = (error: Error, times: number): Error =>
			times === 0 ? error : wrapped(new Error('outer', { cause: error }), times - 1);
		const inner = Object.assign(new Error('inner'), { code: 'EAGAIN', syscall: 'connect' });
		expect([errnoOf(wrapped(inner, 7)), errnoOf(wrapped(inner, 8))]).toEqual(['EAGAIN', undefined]);
		expect(errnoOf(Object.assign(new Error('odd'), { code: 5, syscall: 'connect' }))).toBeUndefined();
		const circle = new Error('a');
		circle.cause = circle;
		expect(errnoOf(circle)).toBeUndefined();
		expect(reportAddress({ host: '127.0.0.1', port: 7 }, circle).found).toBe('no answer');
		expect(errnoOf(undefined)).toBeUndefined();
	});
});

describe('a look at a path', () => {
	const realLstat = fs.lstatSync;

	/** Makes looks at these paths fail, without the rights of a user who could not. */
	function failAt(errors: Readonly<Record<string, string>>): void {
		vi.spyOn(fs, 'lstatSync').mockImplementation(((path: string) => {
			const code = errors[path];
			if (code === undefined) return realLstat(path);
			// As with `throwIfNoEntry: false`.
			if (code === 'ENOENT') return undefined;
			throw Object.assign(new Error(code), { code, syscall: 'lstat' });
		}) as typeof fs.lstatSync);
		syncBuiltinESMExports();
	}

	afterEach(() => {
		vi.restoreAllMocks();
		syncBuiltinESMExports();
	});

	it('finds nothing, no directory, or what is no socket', () => {
		const directory = fs.mkdtempSync(join(tmpdir(), 'look-'));
		const file = join(directory, 'file');
		fs.writeFileSync(file, '');
		expect(lookAtPath(join(directory, 'a.sock'))).toBe('nothing');
		expect(lookAtPath(join(directory, 'missing', 'a.sock'))).toBe('no directory');
		expect(lookAtPath(join(file, 'a.sock'))).toBe('no directory');
		expect(lookAtPath(file)).toBe('not a socket');
		fs.rmSync(directory, { recursive: true });
	});

	it.each([
		['the path', { '/a.sock': 'EACCES' }, 'no permission'],
		['the path', { '/a.sock': 'EPERM' }, 'no permission'],
		['its directory', { '/a.sock': 'ENOENT', '/': 'EACCES' }, 'no permission'],
		['a directory that is gone meanwhile', { '/a.sock': 'ENOENT', '/': 'ENOENT' }, 'no directory'],
		['a path that Node denies', { '/a.sock': 'ERR_ACCESS_DENIED' }, 'unknown'],
	])('at %s that fails with %j finds %s', (_what, errors, found) => {
		failAt(errors);
		expect(lookAtPath('/a.sock')).toBe(found);
	});
});
