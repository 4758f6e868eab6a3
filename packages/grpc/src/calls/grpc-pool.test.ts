import { Client, credentials } from '@grpc/grpc-js';
import type { AcquireOptions, CallOutcome, Diplomat, Lease } from '@spock/client';
import { SpockError } from '@spock/client';
import { FakeClock, settle } from '@spock/testkit';
import { describe, expect, it, vi } from 'vitest';

import { GrpcPool } from './grpc-pool.ts';
import type { GrpcPoolOptions, PoolCallOptions } from './pool-options.ts';
import { type UnaryOptions, unary } from './unary.ts';

const insecure = credentials.createInsecure();
const closed = expect.objectContaining({ code: 'CLOSED', message: expect.stringContaining('"employee"') });

/** A Diplomat whose leases the test gives out. */
function scripted() {
	const released: [CallOutcome, number | undefined][] = [];
	const lease: Lease = {
		query: { service: 'employee' },
		address: { instance: 'ann', host: '127.0.0.1', port: 1 } as Lease['address'],
		release: (outcome, durationMs) => void released.push([outcome, durationMs]),
	};
	const watches: AbortSignal[] = [];
	const diplomat = {
		acquire: vi.fn(async (_query: unknown, _options: AcquireOptions): Promise<Lease> => lease),
		// As of a sidecar that cannot push.
		async *watchService(_query: unknown, { signal }: { readonly signal: AbortSignal }) {
			watches.push(signal);
			yield* [];
			throw new SpockError('UNKNOWN_FUNC', 'no watches here');
		},
	};
	return { diplomat: diplomat as typeof diplomat & Diplomat, lease, released };
}

function open(script = scripted()) {
	const clock = new FakeClock();
	const options = { diplomat: script.diplomat, service: 'employee', Client, credentials: insecure };
	return { ...script, clock, pool: new GrpcPool(options, { clock }) };
}

describe('the options of a pool', () => {
	const { diplomat } = scripted();
	const good: GrpcPoolOptions<Client> = { diplomat, service: 'employee', Client, credentials: insecure };

	it.each<[string, object, RegExp]>([
		['nothing', { diplomat: undefined }, /diplomat must be/],
		['a promise', { diplomat: Promise.resolve(diplomat) }, /promise.*await/],
		['no service', { service: undefined }, /service must be/],
		['no class', { Client: undefined }, /Client must be/],
		['another spelling', { client: Client }, /unknown option "client"; did you mean "Client"/],
		['no credentials', { credentials: {} }, /credentials must be/],
		['channel options that are none', { channelOptions: 5 }, /channelOptions must be/],
		['no time', { channelIdleMs: 0 }, /channelIdleMs must be/],
	])('%s throws at once, and is named', (_what, wrong, message) => {
		expect(() => new GrpcPool({ ...good, ...wrong })).toThrow(message);
	});

	it('what no service can be asked for by is BAD_REQUEST', () => {
		expect(() => new GrpcPool({ ...good, service: '' })).toThrow(expect.objectContaining({ code: 'BAD_REQUEST' }));
	});

	it.each<[object, RegExp]>([
		[{ retriesMax: -1 }, /retriesMax must be/],
		[{ idempotent: 'yes' }, /idempotent must be/],
		[{ retriesMaxx: 1 }, /unknown option "retriesMaxx"; did you mean "retriesMax"/],
	])('of a call: %o throws at once', (wrong, message) => {
		const pool = new GrpcPool(good);
		expect(() => pool.call(async () => 1, wrong as PoolCallOptions)).toThrow(message);
		expect(() => pool.call(undefined as never)).toThrow(/call must be a function/);
	});
});

describe('unary', () => {
	it('a misspelt option throws, because the call would have no deadline', () => {
		const client = Object.assign(new Client('127.0.0.1:1', insecure), { work: () => undefined });
		const misspelt = { timeout: 500 } as UnaryOptions;
		expect(() => unary(client, 'work', {}, misspelt)).toThrow(/unknown option "timeout"; did you mean "timeoutMs"/);
		client.close();
	});
});

describe('the end of a pool', () => {
	it('a call that waits for an instance is told to wait no longer, and makes no channel', async () => {
		const script = scripted();
		const { diplomat, lease, released } = script;
		const pools = [open(script), open(script)];
		let give = (): void => undefined;
		let told: AbortSignal | undefined;
		diplomat.acquire.mockImplementation((_query, { signal }) => {
			told = signal;
			return new Promise((resolve) => {
				give = () => resolve(lease);
			});
		});
		const callers = [undefined, new AbortController().signal];
		for (const [count, signal] of callers.entries()) {
			const { pool } = pools[count] as (typeof pools)[number];
			const call = vi.fn(async () => 'done');
			const isClosed = expect(pool.call(call, { idempotent: true, ...(signal && { signal }) })).rejects.toEqual(closed);
			expect(told?.aborted).toBe(false);
			await pool.close();
			expect(told?.aborted).toBe(true);
			give();
			await isClosed;
			expect(call).not.toHaveBeenCalled();
			expect(pool.size).toBe(0);
		}
		expect(released).toEqual([
			['cancelled', undefined],
			['cancelled', undefined],
		]);
	});

	it('after it every call is CLOSED, retries too, and it may be ended again', async () => {
		const { pool, diplomat, clock } = open();
		await pool.call(async () => 'done');
		expect(pool.size).toBe(1);
		let attempts = 0;
		const retried = pool.call(
			async () => {
				attempts++;
				await pool.close();
				throw Object.assign(new Error('x'), { code: 14, details: 'x' });
			},
			{ idempotent: true },
		);
		await expect(retried).rejects.toEqual(closed);
		expect(attempts).toBe(1);
		diplomat.acquire.mockClear();
		await expect(pool.call(async () => 'done')).rejects.toEqual(closed);
		expect(diplomat.acquire).not.toHaveBeenCalled();
		await Promise.all([pool.close(), pool.drain(), pool[Symbol.asyncDispose]()]);
		expect([pool.size, clock.pendingTimers]).toEqual([0, 0]);
	});

	it('drain waits for calls and takes no more; close after it does not wait', async () => {
		const { pool } = open();
		let finish = (): void => undefined;
		const finished = new Promise<void>((resolve) => {
			finish = resolve;
		});
		const call = pool.call(() => finished);
		const drained = vi.fn();
		const draining = pool.drain().then(drained);
		await expect(pool.call(async () => 'done')).rejects.toEqual(closed);
		expect([pool.size, drained.mock.calls.length]).toEqual([1, 0]);
		finish();
		await call;
		await draining;
		expect(pool.size).toBe(0);

		const other = open().pool;
		const began = vi.fn(() => new Promise(() => undefined));
		void other.call(began);
		await vi.waitFor(() => expect(began).toHaveBeenCalled());
		const stuck = other.drain();
		await other.close();
		await stuck;
	});
});

describe('calls of a pool', () => {
	it('an error of the caller’s own says nothing of the instance', async () => {
		const { pool, released } = open();
		const fault = new TypeError('x is not a function');
		const faulty = (): never => {
			throw fault;
		};
		await expect(pool.call(faulty)).rejects.toBe(fault);
		await expect(pool.call(() => Promise.reject(fault))).rejects.toBe(fault);
		const refused = Object.assign(new Error('x'), { code: 'ECONNREFUSED' });
		await expect(pool.call(() => Promise.reject(refused))).rejects.toBe(refused);
		expect(released.map(([outcome]) => outcome)).toEqual(['cancelled', 'cancelled', 'failure']);
		await pool.close();
	});

	it('a channel that has had no call for the idle time is closed, though no watch runs', async () => {
		const { pool, clock } = open();
		await pool.call(async () => 'done');
		await clock.advance(200_000);
		await pool.call(async () => 'done');
		await clock.advance(299_999);
		expect(pool.size).toBe(1);
		let finish = (): void => undefined;
		const busy = pool.call(
			() =>
				new Promise<void>((resolve) => {
					finish = resolve;
				}),
		);
		await settle();
		await clock.advance(900_000);
		expect(pool.size).toBe(1);
		finish();
		await busy;
		await clock.advance(600_000);
		expect([pool.size, clock.pendingTimers]).toEqual([0, 0]);
		await pool.call(async () => 'done');
		expect(pool.size).toBe(1);
		await pool.close();
	});
});
