import {
	type FakeAnswer,
	FakeSidecar,
	fakeSnapshot,
	runSidecar,
	type TempSocket,
	tempSocket,
	waitFor,
	wireError,
} from '@spock/testkit';
import { describe, expect, it } from 'vitest';

const refusal = (code: string, retryable = false): FakeAnswer => ({ error: wireError(code, retryable) });
const REGISTERED: FakeAnswer = {
	data: { id: 'b1', service: 'barista', instance: 'b1', state: 'registered', error: null },
};

const REGISTER = ['register', 'barista', '--port', '1'];
const COMMANDS: readonly (readonly string[])[] = [REGISTER, ['watch', 'barista'], ['kv', 'watch', 'colour']];

interface Site extends AsyncDisposable {
	readonly place: TempSocket;
	readonly sidecar: FakeSidecar;
	/** What it answers to a function in the place of what it would. */
	readonly answers: Record<string, FakeAnswer | undefined>;
}

async function site(): Promise<Site> {
	const place = await tempSocket();
	const answers: Site['answers'] = { registerService: REGISTERED, deregisterService: { data: null } };
	const sidecar = await FakeSidecar.listen(place.path, { handle: ({ func }) => answers[func] });
	sidecar.publish(fakeSnapshot('barista', 1, ['1.2.3.4:80']));
	const close = async (): Promise<void> => {
		await sidecar.stop();
		await place[Symbol.asyncDispose]();
	};
	return { place, sidecar, answers, [Symbol.asyncDispose]: close };
}

describe('a command that stays connected', () => {
	it.each([...COMMANDS, ['record', '/nowhere']])(
		'%s is stopped at once while it connects, which is 0',
		async (...args) => {
			await using here = await site();
			here.answers['hello'] = 'hold';
			await using command = runSidecar([...args, '--socket', here.place.path, '--timeout', '60000']);
			await waitFor('the hello', () => here.sidecar.requestsOf('hello').length > 0);
			const { exitCode, stderr } = await command.stop('SIGINT');
			const expected = args[0] === 'register' ? 'stopped while not registered\n' : '';
			expect([exitCode, stderr]).toEqual([0, expected]);
		},
	);

	it.each(COMMANDS)('%s ends when the next sidecar refuses its hello', async (...args) => {
		await using here = await site();
		await using command = runSidecar([...args, '--socket', here.place.path]);
		await waitFor('the beginning', () => command.stdout() !== '');
		here.answers['hello'] = refusal('ACL_DENIED');
		here.sidecar.connection.drop();
		const { exitCode, stderr } = await command.finished;
		expect([exitCode, stderr]).toEqual([1, expect.stringContaining('sidecar: ACL_DENIED: a scripted ACL_DENIED')]);
	});

	it.each([
		['BAD_REQUEST', 2],
		['ACL_DENIED', 1],
	])('register ends when the next sidecar refuses the registration: %s', async (code, expected) => {
		await using here = await site();
		await using command = runSidecar([...REGISTER, '--socket', here.place.path]);
		await waitFor('the registration', () => command.stdout().includes(': registered'));
		here.answers['registerService'] = refusal(code);
		here.sidecar.connection.drop();
		const { exitCode, stderr } = await command.finished;
		expect([exitCode, stderr]).toEqual([expected, expect.stringContaining(`sidecar: ${code}: a scripted ${code}`)]);
	});

	it('register waits for what a retry mends, and says that it was not registered when it is stopped meanwhile', async () => {
		await using here = await site();
		await using command = runSidecar([...REGISTER, '--socket', here.place.path]);
		await waitFor('the registration', () => command.stdout().includes(': registered'));
		here.answers['registerService'] = refusal('OVERLOADED', true);
		here.sidecar.connection.drop();
		await waitFor('another try', () => here.sidecar.requestsOf('registerService').length > 2);
		const { exitCode, stderr } = await command.stop('SIGTERM');
		expect([exitCode, stderr]).toEqual([0, expect.stringMatching(/\nstopped while not registered: .*OVERLOADED\n$/)]);
	});

	it.each(COMMANDS)('%s says that the sidecar is gone, and that it is back', async (...args) => {
		await using here = await site();
		await using command = runSidecar([...args, '--socket', here.place.path]);
		await waitFor('the beginning', () => command.stdout() !== '');
		here.sidecar.connection.drop();
		await waitFor('the next connection', () => command.stderr().includes('the sidecar is back\n'));
		// It is back before the registration is.
		const isRegistered = (): boolean => command.stdout().split(': registered').length > 2;
		if (args[0] === 'register') await waitFor('the next registration', isRegistered);
		const { exitCode, stderr } = await command.stop('SIGTERM');
		expect([exitCode, stderr]).toEqual([0, 'the sidecar is gone; waiting for it to come back\nthe sidecar is back\n']);
	});

	it.each([
		['watch', 'watchService'],
		['kv watch', 'watchKey'],
	])('%s ends when its first subscription is refused, also where a retry might mend it', async (name, func) => {
		await using here = await site();
		here.answers[func] = refusal('OVERLOADED', true);
		await using command = runSidecar([...name.split(' '), 'barista', '--socket', here.place.path]);
		const { exitCode, stderr } = await command.finished;
		const help = 'sidecar: causes and what to do: packages/client/docs/reference/errors.md#overloaded\n';
		expect([exitCode, stderr]).toEqual([1, `sidecar: OVERLOADED: a scripted OVERLOADED\n${help}`]);
	});

	it.each([...COMMANDS, ['get', 'barista']])(
		'%s ends at once when the sidecar closes the connection at first',
		async (...args) => {
			await using place = await tempSocket();
			await using _sidecar: FakeSidecar = await FakeSidecar.listen(place.path, {
				handle: ({ func, connection }) => {
					if (func === 'hello') return undefined;
					_sidecar.connections[connection]?.drop();
					return 'hold';
				},
			});
			await using command = runSidecar([...args, '--socket', place.path, '--timeout', '60000']);
			const { exitCode, stderr } = await command.finished;
			expect([exitCode, stderr]).toEqual([3, `sidecar: the sidecar at ${place.path} closed the connection\n`]);
		},
	);
});
