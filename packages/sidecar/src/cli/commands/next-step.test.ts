import type { Diplomat } from '@spock/client';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { checkInstances } from './doctor/check-service.ts';
import { nothingListed } from './list.ts';
import { nextKeyStep, nextStep } from './next-step.ts';

const calledAs = process.argv[1] as string;

beforeEach(() => {
	process.argv[1] = '/usr/local/bin/spock';
	vi.stubEnv('PATH', '/usr/local/bin');
	vi.stubEnv('npm_command', undefined);
});

afterEach(() => {
	process.argv[1] = calledAs;
	vi.unstubAllEnvs();
});

const client = {
	request: async (func: string) =>
		func === 'listServices'
			? { services: [{ name: 'barista', tags: [] }] }
			: { prefix: true, entries: [{ key: 'app/limits', value: '' }] },
} as unknown as Diplomat;

it('what to type next has the name by which the command was called', async () => {
	expect(await nextStep(client, { service: 'barista' }, {})).toMatch(/^`spock explain barista` /);
	expect(await nextStep(client, { service: 'barista', peer: 'east' }, {})).toMatch(
		/^`spock explain barista --peer east` /,
	);
	expect(await nextStep(client, { service: 'barrista' }, {})).toContain('`spock list`');
	expect(await nextKeyStep(client, { key: 'app/limit' }, {})).toContain('`spock kv get --prefix app/`');
	expect(nothingListed()).toContain('`spock status`');
	const instance = { instance: 'a', host: 'h', port: 1, included: false, status: 'critical', reason: 'critical' };
	const reply = { service: 'barista', instances: [instance], instanceCount: 1, panic: false };
	expect(checkInstances(reply as never).next).toContain('`spock explain barista`');
});
