import type { ServiceSnapshot, ServiceSource, SnapshotObserver } from '@spock/protocol';
import { SpockError } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import { waitFor } from './wait-for.ts';

/** What the suite needs of whoever runs it: a source, and a hand on the registry behind it. */
export interface SourceFixture extends AsyncDisposable {
	readonly source: ServiceSource;
	/** Makes these `host:port` the passing instances of a service; none takes the service out of the registry. */
	setService(service: string, hosts: readonly string[]): void | Promise<void>;
	/** While true the registry gives no first answer (it is held, or refused). */
	holdAnswers(held: boolean): void | Promise<void>;
}

interface Recorder extends SnapshotObserver {
	readonly snapshots: ServiceSnapshot[];
	readonly errors: SpockError[];
}

function recorder(): Recorder {
	const snapshots: ServiceSnapshot[] = [];
	const errors: SpockError[] = [];
	return { snapshots, errors, next: (snapshot) => snapshots.push(snapshot), error: (error) => errors.push(error) };
}

function hostsOf(snapshot: ServiceSnapshot | undefined): string[] | undefined {
	return snapshot?.instances.map(({ host, port }) => `${host}:${port}`).sort();
}

/** What every ServiceSource promises. Each test makes a fixture of its own. */
export function describeSourceContract(name: string, makeFixture: () => Promise<SourceFixture>): void {
	describe(`${name} keeps the contract of a ServiceSource`, () => {
		it('get gives the snapshot of a known service, and a snapshot without instances of an unknown one', async () => {
			await using fixture = await makeFixture();
			await fixture.setService('barista', ['10.0.0.1:80', '10.0.0.2:81']);
			const known = await fixture.source.get({ service: 'barista' });
			expect(hostsOf(known)).toEqual(['10.0.0.1:80', '10.0.0.2:81']);
			expect(known).toMatchObject({ service: 'barista', ageMs: 0 });
			expect(known).not.toHaveProperty('tags');
			expect((await fixture.source.get({ service: 'nobody' })).instances).toEqual([]);
		});

		it('peek never starts anything, and gives what is known in this tick', async () => {
			await using fixture = await makeFixture();
			await fixture.setService('barista', ['10.0.0.1:80']);
			expect(fixture.source.peek({ service: 'barista' })).toBeUndefined();
			await fixture.source.get({ service: 'barista' });
			expect(hostsOf(fixture.source.peek({ service: 'barista' }))).toEqual(['10.0.0.1:80']);
		});

		it('watch tells the current snapshot before it returns, then every change, newest last and never an older one', async () => {
			await using fixture = await makeFixture();
			await fixture.setService('barista', ['10.0.0.1:80']);
			await fixture.source.get({ service: 'barista' });
			const seen = recorder();
			const watch = fixture.source.watch({ service: 'barista' }, seen);
			expect(hostsOf(seen.snapshots[0])).toEqual(['10.0.0.1:80']);
			for (let port = 1; port <= 20; port++) await fixture.setService('barista', [`10.0.0.1:${port}`]);
			await waitFor('the last change', () => hostsOf(seen.snapshots.at(-1))?.[0] === '10.0.0.1:20');
			const revisions = seen.snapshots.map(({ revision }) => revision);
			expect(revisions).toEqual([...revisions].sort((left, right) => left - right));
			watch.stop();
		});

		it('watch of a service that is not known yet tells it when it is', async () => {
			await using fixture = await makeFixture();
			await fixture.setService('barista', ['10.0.0.1:80']);
			const seen = recorder();
			const watch = fixture.source.watch({ service: 'barista' }, seen);
			await waitFor('the first snapshot', () => hostsOf(seen.snapshots.at(-1))?.[0] === '10.0.0.1:80');
			await fixture.setService('barista', []);
			await waitFor('the empty one', () => seen.snapshots.at(-1)?.instances.length === 0);
			watch.stop();
			watch.stop();
		});

		it('two watches of one query are independent: stopping one leaves the other', async () => {
			await using fixture = await makeFixture();
			await fixture.setService('barista', ['10.0.0.1:80']);
			const first = recorder();
			const second = recorder();
			const stopped = fixture.source.watch({ service: 'barista' }, first);
			fixture.source.watch({ service: 'barista' }, second);
			await waitFor('both', () => first.snapshots.length > 0 && second.snapshots.length > 0);
			stopped.stop();
			const told = first.snapshots.length;
			await fixture.setService('barista', ['10.0.0.9:80']);
			await waitFor('the change', () => hostsOf(second.snapshots.at(-1))?.[0] === '10.0.0.9:80');
			expect(first.snapshots).toHaveLength(told);
		});

		it('get without a first answer rejects at its deadline, and ABORTED by its signal, with the cause', async () => {
			await using fixture = await makeFixture();
			await fixture.holdAnswers(true);
			const late = await fixture.source.get({ service: 'barista' }, { timeoutMs: 20 }).catch((error: unknown) => error);
			expect(SpockError.is(late) && late.retryable).toBe(true);
			const stop = new AbortController();
			const waiting = fixture.source.get({ service: 'barista' }, { signal: stop.signal });
			const reason = new Error('changed my mind');
			stop.abort(reason);
			await expect(waiting).rejects.toMatchObject({ code: 'ABORTED', cause: reason });
			await expect(fixture.source.get({ service: 'barista' }, { signal: stop.signal })).rejects.toMatchObject({
				code: 'ABORTED',
			});
		});

		it('a watch outlives the want of a first answer', async () => {
			await using fixture = await makeFixture();
			await fixture.setService('barista', ['10.0.0.1:80']);
			await fixture.holdAnswers(true);
			const seen = recorder();
			const watch = fixture.source.watch({ service: 'barista' }, seen);
			expect(seen.snapshots).toEqual([]);
			await fixture.holdAnswers(false);
			await waitFor('the snapshot', () => hostsOf(seen.snapshots.at(-1))?.[0] === '10.0.0.1:80');
			watch.stop();
		});

		it('list gives the names of all services', async () => {
			await using fixture = await makeFixture();
			await fixture.setService('barista', ['10.0.0.1:80']);
			await fixture.setService('waiter', ['10.0.0.2:80']);
			const { services } = await fixture.source.list({});
			expect(services.map((entry) => entry.name).sort()).toEqual(['barista', 'waiter']);
		});

		it('close rejects who waits with CLOSED, silences watches, and is idempotent', async () => {
			await using fixture = await makeFixture();
			await fixture.holdAnswers(true);
			const seen = recorder();
			fixture.source.watch({ service: 'barista' }, seen);
			const waiting = fixture.source.get({ service: 'barista' });
			const settled = expect(waiting).rejects.toMatchObject({ code: 'CLOSED' });
			await fixture.source.close();
			await fixture.source.close();
			await settled;
			const told = seen.snapshots.length + seen.errors.length;
			await fixture.holdAnswers(false);
			await fixture.setService('barista', ['10.0.0.1:80']);
			await expect(fixture.source.get({ service: 'barista' })).rejects.toMatchObject({ code: 'CLOSED' });
			expect(seen.snapshots.length + seen.errors.length).toBe(told);
		});
	});
}
