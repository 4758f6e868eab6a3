import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { ServiceSnapshot } from '@spock/protocol';
import {
	ANONYMOUS_ACCESSOR,
	FakeClock,
	manage,
	READ_ALL,
	type RealConsul,
	startAclConsul,
	tempSocket,
	waitFor,
} from '@spock/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { watchedMany } from '../../../test/watched-many.ts';
import { BackendSource } from '../../backend-source.ts';
import { consulOptionsFromEnvironment } from './consul-backend-options.ts';

const TOKEN = 'c0ffee01-0000-4000-8000-000000000001';
const ACCESSOR = 'c0ffee01-0000-4000-8000-0000000000aa';
const OTHER = 'c0ffee02-0000-4000-8000-000000000002';
let consul: RealConsul;

// A streaming agent answers most queries that block, and says nothing of denials; an agent without says it in a header.
describe.each([
	['a streaming agent', 'true'],
	['an agent that does not stream', 'false'],
])('%s', (_what, isStreaming) => {
	beforeAll(async () => {
		consul = await startAclConsul([`use_streaming_backend = ${isStreaming}`]);
		await manage(consul, 'PUT', '/v1/acl/policy', { Name: 'read-all', Rules: READ_ALL });
		await manage(consul, 'PUT', '/v1/acl/policy', {
			Name: 'services-only',
			Rules: 'service_prefix "" { policy = "read" }',
		});
		await consul.put('/v1/agent/service/register', { Name: 'barista', ID: 'b1', Address: '10.0.0.1', Port: 80 });
	});
	afterAll(() => consul[Symbol.asyncDispose]());

	const grant = () =>
		manage(consul, 'PUT', '/v1/acl/token', { AccessorID: ACCESSOR, SecretID: TOKEN, Policies: [{ Name: 'read-all' }] });
	const revoke = () => manage(consul, 'DELETE', `/v1/acl/token/${ACCESSOR}`);
	const anonymousMay = (...names: readonly string[]) =>
		manage(consul, 'PUT', `/v1/acl/token/${ANONYMOUS_ACCESSOR}`, { Policies: names.map((Name) => ({ Name })) });

	it('a token of the environment with the end of a line is a good one', async () => {
		await grant();
		await using one = watchedMany([consul.url], consulOptionsFromEnvironment({ CONSUL_HTTP_TOKEN: `${TOKEN}\n` }));
		const { answers, errors } = one.watch('barista');
		await waitFor('the service', () => answers.at(-1)?.length === 1 || errors.length > 0);
		await revoke();
		expect(errors).toEqual([]);
	});

	describe('a token that stops being good', () => {
		it('a revoked one is ACL_DENIED, and the last known good is served on', async () => {
			await grant();
			await using one = watchedMany([consul.url], { token: TOKEN });
			const source = new BackendSource({ backend: one.backend });
			const seen: ServiceSnapshot[] = [];
			source.watch({ service: 'barista' }, { next: (snapshot) => seen.push(snapshot) });
			await waitFor('the service', () => seen.at(-1)?.instances.length === 1);
			await revoke();
			// The query that blocks notices when it returns.
			await consul.put('/v1/agent/service/register', { Name: 'barista', ID: 'b1', Tags: ['v2'], Port: 80 });
			await waitFor('the loss', () => seen.at(-1)?.source === 'last-known-good');
			expect(seen.at(-1)?.instances).toMatchObject([{ instance: 'test/b1' }]);
			expect(source.watches()[0]?.error).toMatch(/does not know the ACL token/);
			await grant();
			await waitFor('the return', () => seen.at(-1)?.source === 'live', 60_000);
			expect(seen.every(({ instances }) => instances.length === 1)).toBe(true);
			await revoke();
		});

		it('one that may read nothing any more empties nothing', async () => {
			await grant();
			// Short, because a streaming agent says nothing before the wait is over.
			await using one = watchedMany([consul.url], { token: TOKEN, waitMs: 1000 });
			const { answers, errors } = one.watch('barista');
			await waitFor('the service', () => answers.length > 0);
			await manage(consul, 'PUT', `/v1/acl/token/${ACCESSOR}`, { AccessorID: ACCESSOR, SecretID: TOKEN, Policies: [] });
			await consul.put('/v1/agent/service/register', { Name: 'barista', ID: 'b1', Tags: ['v3'], Port: 80 });
			await waitFor('the denial', () => errors.length > 0);
			expect(errors[0]).toMatchObject({ code: 'ACL_DENIED' });
			expect(answers.every((list) => list.length === 1)).toBe(true);
			await revoke();
		});

		it('a file that rotates: the new token is used at once, and a bad file changes nothing', async () => {
			await grant();
			await manage(consul, 'PUT', '/v1/acl/token', { SecretID: OTHER, Policies: [{ Name: 'read-all' }] });
			await using place = await tempSocket();
			const tokenFile = join(place.directory, 'token');
			const write = (text: string): void => {
				writeFileSync(`${tokenFile}.new`, text);
				renameSync(`${tokenFile}.new`, tokenFile);
			};
			write(TOKEN);
			const clock = new FakeClock();
			await using one = watchedMany([consul.url], { tokenFile, clock });
			expect(await one.backend.list({})).not.toEqual([]);
			write(OTHER);
			await revoke();
			expect(await one.backend.list({})).not.toEqual([]);
			for (const spoil of [() => write(''), () => write('a b'), () => rmSync(tokenFile)]) {
				spoil();
				// The file is looked at ten times a second at the most.
				await clock.advance(100);
				expect(await one.backend.list({})).not.toEqual([]);
			}
			expect(one.events.filter(({ type }) => type === 'credentials-refused')).toHaveLength(3);
			expect(JSON.stringify(one.events)).not.toMatch(/c0ffee/);
		});
	});

	describe('nobody in particular, under default deny', () => {
		it('is denied and not told of an empty service', async () => {
			await using one = watchedMany([consul.url]);
			const { answers, errors } = one.watch('barista');
			await waitFor('the denial', () => errors.length > 0);
			expect(errors[0]).toMatchObject({ code: 'ACL_DENIED', message: expect.stringContaining('token') });
			expect(answers).toEqual([]);
		});

		// A streaming agent goes on telling nobody in particular what has been forbidden since: that harms no reader.
		if (isStreaming !== 'true') {
			it.each([
				['everything', []],
				['the nodes', ['services-only']],
			])('that loses the right to read %s keeps what it knew', async (_what, left) => {
				await anonymousMay('read-all');
				await using one = watchedMany([consul.url]);
				const { answers, errors } = one.watch('barista');
				await waitFor('the service', () => answers.length > 0);
				await anonymousMay(...left);
				await consul.put('/v1/agent/service/register', {
					Name: 'barista',
					ID: 'b1',
					Tags: [`${left.length}`],
					Port: 80,
				});
				await waitFor('the denial', () => errors.length > 0);
				expect(errors[0]).toMatchObject({ code: 'ACL_DENIED' });
				expect(answers.every((list) => list.length === 1)).toBe(true);
			});
		}

		it('that may read is told the truth about a service that is not there', async () => {
			await anonymousMay('read-all');
			await using one = watchedMany([consul.url]);
			const { answers, errors } = one.watch('nobody');
			await waitFor('the answer', () => answers.length > 0);
			expect(answers[0]).toEqual([]);
			expect(errors).toEqual([]);
		});
	});
});
