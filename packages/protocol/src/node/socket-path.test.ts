import { describe, expect, it } from 'vitest';

import { assertSocketPathFits, defaultSocketPath, formatAddress, parseHostPort } from './socket-path.ts';

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
