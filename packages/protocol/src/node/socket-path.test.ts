import { chmodSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import {
	assertPrivateDirectory,
	assertSocketPathFits,
	assertTrustedAddress,
	defaultSocketAddress,
	defaultSocketPath,
	formatAddress,
	parseHostPort,
	UNTRUSTED_DIRECTORY,
} from './socket-path.ts';

describe('defaultSocketPath', () => {
	it('follows SPOCK_SOCKET before all else', () => {
		const env = { SPOCK_SOCKET: '/run/x.sock' };
		expect(defaultSocketPath({ env, uid: 1, isDirectory: () => true })).toBe('/run/x.sock');
	});

	it('is in the shared volume of a pod, where there is one', () => {
		const isDirectory = (path: string): boolean => path === '/uds';
		expect(defaultSocketPath({ env: { SPOCK_SOCKET: '' }, uid: 1, isDirectory })).toBe('/uds/sidecar.sock');
	});

	it('is in a directory of the user elsewhere', () => {
		expect(defaultSocketPath({ env: {}, uid: 1000, isDirectory: () => false })).toBe('/tmp/spock-1000/sidecar.sock');
		expect(defaultSocketPath({ env: {}, uid: undefined, isDirectory: () => false })).toBe(
			'/tmp/spock-user/sidecar.sock',
		);
	});
});

describe('the directory of the user', () => {
	const uid = process.getuid?.() ?? 0;

	it('is checked where the path is the default one in it, and nowhere else', () => {
		const isDirectory = (): boolean => false;
		const own = defaultSocketAddress({ env: {}, uid: 64_123, isDirectory });
		expect(own).toEqual({ path: '/tmp/spock-64123/sidecar.sock', isPrivate: true });
		const named = defaultSocketAddress({ env: { SPOCK_SOCKET: own.path }, uid: 64_123, isDirectory });
		expect(named).toEqual({ path: own.path });
		expect(() => assertTrustedAddress(named, 64_123)).not.toThrow();
		expect(() => assertTrustedAddress({ host: 'h', port: 1 }, 64_123)).not.toThrow();
		expect(() => assertTrustedAddress(own, 64_123)).toThrow('ENOENT');
	});

	it('is refused when another user owns it or may change it, or it is a link', () => {
		const directory = mkdtempSync('/tmp/spock-owner-');
		try {
			const path = join(directory, 'sidecar.sock');
			const check = (user: number | undefined): void => assertTrustedAddress({ path, isPrivate: true }, user);
			check(uid);
			expect(() => check(uid + 1)).toThrow('is not a directory that only this user may change');
			chmodSync(directory, 0o770);
			expect(() => check(uid)).toThrow(expect.objectContaining({ code: UNTRUSTED_DIRECTORY }));
			expect(() => check(undefined)).toThrow('only this user');
			chmodSync(directory, 0o755);
			check(uid);
			symlinkSync(directory, join(directory, 'link'));
			expect(() => assertPrivateDirectory(join(directory, 'link'), uid)).toThrow('only this user');
		} finally {
			rmSync(directory, { recursive: true });
		}
	});
});

describe('assertSocketPathFits', () => {
	it('refuses a path that the kernel would cut, and counts bytes', () => {
		expect(() => assertSocketPathFits('x'.repeat(107), 'linux')).not.toThrow();
		expect(() => assertSocketPathFits('x'.repeat(108), 'linux')).toThrow('108 bytes long, linux allows 107');
		expect(() => assertSocketPathFits('x'.repeat(104), 'darwin')).toThrow('darwin allows 103');
		expect(() => assertSocketPathFits('é'.repeat(54), 'linux')).toThrow('108 bytes');
	});
});

describe('parseHostPort', () => {
	it('reads names, addresses, brackets, and a port alone', () => {
		expect(parseHostPort('localhost:7000')).toEqual({ host: 'localhost', port: 7000 });
		expect(parseHostPort('[::1]:7000')).toEqual({ host: '::1', port: 7000 });
		expect(parseHostPort('fd00::1:7000')).toEqual({ host: 'fd00::1', port: 7000 });
		expect(parseHostPort('[fe80::1%eth0]:7000')).toEqual({ host: 'fe80::1%eth0', port: 7000 });
		expect(parseHostPort(':0')).toEqual({ host: '127.0.0.1', port: 0 });
	});

	it('refuses anything else and shows it', () => {
		for (const text of ['', 'localhost', 'a:b', '1:2:3', ':70000', '[::1]', 'a b:1']) {
			expect(() => parseHostPort(text)).toThrow(JSON.stringify(text));
		}
	});

	it('is undone by formatAddress', () => {
		for (const text of ['localhost:7000', '[::1]:7000']) expect(formatAddress(parseHostPort(text))).toBe(text);
		expect(formatAddress({ path: '/uds/sidecar.sock' })).toBe('/uds/sidecar.sock');
	});
});
