import { get } from 'node:http';

import { findConsul, startConsul } from '@spock/testkit';
import { expect, it } from 'vitest';

import { refuseUnaskable } from './consul-error.ts';

const binary = findConsul(process.env);
const NAMES: readonly string[] = [
	...['.', '..', '...', '.a', 'a/b', '/', 'a//b', 'a/../b', 'a/', ' ', 'a b', 'é', '%', 'a?b', 'a#b', '"', '\\', '😀'],
	...['a\nb', 'a\tb', 'a\u0001', 'a\u007f', '\u0085', 'a\u00a0b', 'a\u200b', '\u2028', '\ue000'],
];

/** Node's own client sends a path as it is; `fetch` would take dots out of it. */
function statusOf(url: string): Promise<number> {
	return new Promise((resolve, reject) => {
		get(url, (response) => {
			response.resume();
			resolve(response.statusCode ?? 0);
		}).on('error', reject);
	});
}

it('the names that are refused here are those that a real Consul does not answer for', async () => {
	await using consul = await startConsul({ binary });
	const answered: string[] = [];
	const accepted: string[] = [];
	for (const name of NAMES) {
		const { origin, pathname } = new URL(consul.url);
		const path = `${pathname.replace(/\/$/, '')}/v1/health/service/${encodeURIComponent(name)}`;
		if ((await statusOf(`${origin}${path}`)) === 200) answered.push(name);
		try {
			refuseUnaskable('service', name);
			accepted.push(name);
		} catch {
			// Told below, by its absence.
		}
	}
	expect(accepted).toEqual(answered);
});
