import {
	type CallOptions,
	type DeregisterServiceData,
	encodePayload,
	encodeRequestTail,
	type FuncData,
	type FuncName,
	type FuncReply,
	type RegisterServiceData,
	type RegistrationListener,
	type RegistrationReply,
	type ReportServiceData,
	type ServiceRegistrar,
	SpockError,
} from '@spock/protocol';
import { validateRegistration, validateReport } from '@spock/protocol/internal';
import { formatAddress, type SocketAddress } from '@spock/protocol/node';
import { BACKGROUND, type CallTraits, QUESTION } from '../calls/outgoing-call.ts';
import { RetrySchedule, whileRefused } from '../connection/retry-schedule.ts';
import type { Session } from '../connection/session.ts';
import { registrationChannel } from '../foundation/diagnostics.ts';
import type { ResolvedOptions } from '../foundation/options.ts';
import { readRegistration } from './registration.ts';

/** Access to the sidecar, now or once connected. */
export interface RegistrarPort {
	/** Calls any function; the options are checked already. */
	call<F extends FuncName>(func: F, data: FuncData<F>, traits: CallTraits, options: CallOptions): Promise<FuncReply<F>>;
}

/**
 * `kept`: registered on every new connection. `leaving`: its deregistration was requested and has not settled. `left`: the request was
 * sent but not confirmed, and is repeated on every new connection.
 */
type WantedPhase = 'kept' | 'leaving' | 'left';

interface Wanted {
	phase: WantedPhase;
	/** The app's latest registration or report. */
	data: RegisterServiceData;
	/** The newest report, also while it is in flight. */
	report: ReportServiceData | undefined;
	/** What a sidecar accepted last: restored if the app's latest data are refused. */
	accepted: RegisterServiceData;
	/** Numbers of the app's reports that led to `data` and to `accepted`: answers may arrive out of order. */
	word: number;
	acceptedWord: number;
	last: RegistrationReply;
	readonly listener: RegistrationListener;
}

/** Failures after which it is unknown whether the sidecar received the request. */
const UNKNOWN_OUTCOMES: readonly string[] = ['TIMEOUT', 'ABORTED', 'DISCONNECTED', 'CLOSED', 'PROTOCOL'];

/** Refusals of the data themselves, which other data may not have. A denial is none of them. */
const OF_DATA: readonly string[] = ['BAD_REQUEST', 'FRAME_TOO_LARGE'];

/** Instances registered through a sidecar: registered again on every new connection, with their latest report. */
export class SidecarRegistrar implements ServiceRegistrar {
	readonly #port: RegistrarPort;
	readonly #timeoutMs: number;
	readonly #address: SocketAddress;
	readonly #retry: RetrySchedule;
	readonly #wanted = new Map<string, Wanted>();
	#session: Session | undefined;
	/** Sessions so far: the next session does not know the registrations of an earlier one. */
	#sessions = 0;
	/** Reports so far. */
	#words = 0;
	/** A sidecar deregisters for apps that may be gone: it is done as soon as that is possible, whatever became of the call. */
	readonly #isForSidecar: boolean;

	constructor(options: ResolvedOptions, port: RegistrarPort) {
		this.#port = port;
		this.#timeoutMs = options.timeoutMs;
		this.#address = options.address;
		this.#isForSidecar = options.sidecar !== undefined;
		this.#retry = new RetrySchedule(whileRefused(options), () => this.#registerAgain(isOpen));
	}

	async register(
		data: RegisterServiceData,
		listener: RegistrationListener,
		options: CallOptions = {},
	): Promise<RegistrationReply> {
		validateRegistration(data);
		const sessions = this.#sessions;
		// In the tick of the reply, so that a push right behind it finds its registration.
		const read = (reply: unknown): RegistrationReply => {
			const last = readRegistration(reply);
			// A baseline sidecar may answer an unknown function with an empty reply.
			if (last === undefined)
				throw new SpockError('UNKNOWN_FUNC', 'this sidecar is too old to register services; upgrade it');
			const accepted = { ...data, id: last.id };
			const wanted: Wanted = {
				phase: 'kept',
				data: accepted,
				report: undefined,
				accepted,
				word: 0,
				acceptedWord: 0,
				last,
				listener,
			};
			this.#wanted.set(last.id, wanted);
			this.#publish(last);
			// The connection changed meanwhile, and the new sidecar may not know the registration.
			if (this.#sessions !== sessions) this.#register(wanted);
			return last;
		};
		const before = this.#wanted.get(data.id ?? '')?.data;
		const again = (): string => {
			const now = this.#wanted.get(data.id ?? '')?.data;
			return tailOf('registerService', now === undefined || now === before ? data : now, options);
		};
		return this.#port.call('registerService', data, { ...QUESTION, again, read }, options);
	}

	async report(report: ReportServiceData, options: CallOptions = {}): Promise<RegistrationReply> {
		// Before it is stored: an invalid report would make every later registration fail.
		validateReport(report);
		const wanted = this.#wanted.get(report.id);
		const { note: _, ...before } = wanted?.data ?? {};
		const data = { ...before, ...report } as RegisterServiceData;
		const word = ++this.#words;
		if (wanted !== undefined) {
			wanted.data = data;
			wanted.report = report;
			wanted.word = word;
		}
		// After a goaway, the old connection may be lost after the next one has carried a newer report.
		const again = (): string => tailOf('reportService', this.#wanted.get(report.id)?.report ?? report, options);
		try {
			const traits = { ...QUESTION, again, read: this.#readReport };
			const reply = (await this.#port.call('reportService', report, traits, options)) as RegistrationReply;
			if (wanted !== undefined) accept(wanted, data, word);
			// A state pushed right behind the reply is newer.
			return wanted?.last ?? reply;
		} catch (error) {
			if (wanted?.data === data) {
				// A sidecar of another version may be stricter.
				if (SpockError.is(error, 'BAD_REQUEST')) {
					wantAccepted(wanted);
					wanted.report = undefined;
				} else if (this.#isWanted(wanted, 'kept')) {
					// Whether it arrived or not, it is the app's latest report: it is sent again with the registration.
					this.#retry.schedule(error);
				}
			}
			throw error;
		}
	}

	async deregister(which: DeregisterServiceData, options: CallOptions = {}): Promise<null> {
		const wanted = this.#wanted.get(which.id);
		const session = this.#session;
		// At once, so that a reconnect does not register it again.
		if (wanted !== undefined) wanted.phase = 'leaving';
		// An instance that was registered again meanwhile stays.
		const again = (): string => {
			const newer = this.#wanted.get(which.id);
			return newer === undefined || newer === wanted
				? tailOf('deregisterService', which, options)
				: tailOf('registerService', newer.data, options);
		};
		try {
			const reply = await this.#port.call('deregisterService', which, { ...QUESTION, again }, options);
			if (wanted !== undefined) this.#end(wanted, null);
			return reply;
		} catch (error) {
			if (wanted?.phase === 'leaving') this.#stayed(wanted, SpockError.from(error), session);
			throw error;
		}
	}

	/** Registers everything on a new connection. */
	adopted(session: Session): void {
		this.#session = session;
		this.#sessions++;
		this.#registerAgain(() => true);
	}

	/** The connection was lost: every registration is pending until the next one. */
	lost(reason: string): void {
		this.#session = undefined;
		this.#retry.cancel();
		for (const wanted of this.#wanted.values()) this.#pending(wanted, reason);
	}

	/** Handles a pushed registration. Returns false for invalid data. */
	push(data: unknown): boolean {
		const reply = readRegistration(data);
		if (reply !== undefined) this.#receive(reply);
		return reply !== undefined;
	}

	/** Reads the answer to a report, which has the registration's current state: in the tick of the answer, as for a push. */
	readonly #readReport = (data: unknown): RegistrationReply => {
		const reply = readRegistration(data);
		if (reply === undefined) throw new SpockError('PROTOCOL', 'the sidecar answered a report without a registration');
		this.#receive(reply);
		return reply;
	};

	#receive(reply: RegistrationReply): void {
		const wanted = this.#wanted.get(reply.id);
		if (wanted === undefined) return;
		if (reply.state === 'deregistered' && reply.error !== null && wanted.phase === 'kept') {
			// A restarted sidecar refuses it. The registry accepted it once and may do so again: only the app ends a registration.
			this.#pending(wanted, reply.error);
			this.#retry.schedule(undefined);
			return;
		}
		if (reply.state === 'deregistered') this.#wanted.delete(reply.id);
		this.#notify(wanted, reply);
	}

	/** Forgets everything; no listener is called after it. */
	close(): void {
		this.lost('the client was closed, and its sidecar deregisters what it held');
		this.#wanted.clear();
	}

	#registerAgain(which: (wanted: Wanted) => boolean): void {
		this.#retry.cancel();
		for (const wanted of [...this.#wanted.values()].filter(which)) {
			if (wanted.phase === 'kept') this.#register(wanted);
			else if (wanted.phase === 'left') this.#deregister(wanted);
		}
	}

	#register(wanted: Wanted): void {
		const session = this.#session;
		if (session === undefined) return;
		const { data, word } = wanted;
		const isCurrent = (): boolean => this.#session === session && this.#isWanted(wanted, 'kept');
		session.send(
			'registerService',
			data,
			BACKGROUND,
			this.#timeoutMs,
			(answer) => {
				const reply = readRegistration(answer);
				if (!isCurrent() || reply === undefined) return;
				accept(wanted, data, word);
				this.#notify(wanted, reply);
				// While one is refused, its back-off must not be reset by the success of others.
				if (![...this.#wanted.values()].some(isOpen)) this.#retry.reset();
			},
			(error) => {
				if (!isCurrent()) return;
				if (OF_DATA.includes(error.code) && data !== wanted.accepted) {
					// Try newer data first, then what was accepted before: better than not being registered.
					if (wanted.data === data) wantAccepted(wanted);
					this.#register(wanted);
					return;
				}
				this.#pending(wanted, error.message);
				this.#retry.schedule(error);
			},
		);
	}

	/** Repeats a deregistration that an earlier connection did not confirm. */
	#deregister(wanted: Wanted): void {
		const session = this.#session;
		const isCurrent = (): boolean => this.#session === session && this.#isWanted(wanted, 'left');
		const { app } = wanted.data;
		session?.send(
			'deregisterService',
			{ id: wanted.last.id, ...(app !== undefined && { app }) },
			BACKGROUND,
			this.#timeoutMs,
			() => {
				if (isCurrent()) this.#end(wanted, null);
			},
			(error) => {
				if (!isCurrent()) return;
				if (error.retryable) this.#retry.schedule(error);
				else this.#end(wanted, error.message);
			},
		);
	}

	/** The app's deregistration has failed. If it never reached a sidecar, nothing has changed. */
	#stayed(wanted: Wanted, error: SpockError, session: Session | undefined): void {
		const mayBeSent = session !== undefined || this.#session !== undefined;
		const wasAsked = this.#isForSidecar || isRefusal(error) || (UNKNOWN_OUTCOMES.includes(error.code) && mayBeSent);
		wanted.phase = wasAsked ? 'left' : 'kept';
		if (wasAsked) {
			this.#pending(wanted, `it is being deregistered, which is not confirmed: ${error.message}`);
			if (this.#session !== undefined) this.#retry.schedule(error);
		}
		if (!wasAsked && this.#session !== session) this.#register(wanted);
	}

	#end(wanted: Wanted, error: string | null): void {
		if (this.#wanted.get(wanted.last.id) === wanted) this.#wanted.delete(wanted.last.id);
		this.#notify(wanted, { ...wanted.last, state: 'deregistered', error });
	}

	#isWanted(wanted: Wanted, phase: WantedPhase): boolean {
		return wanted.phase === phase && this.#wanted.get(wanted.last.id) === wanted;
	}

	#pending(wanted: Wanted, error: string): void {
		this.#notify(wanted, { ...wanted.last, state: 'pending', error });
	}

	#notify(wanted: Wanted, reply: RegistrationReply): void {
		wanted.last = reply;
		this.#publish(reply);
		wanted.listener(reply);
	}

	#publish(reply: RegistrationReply): void {
		if (registrationChannel.hasSubscribers) {
			registrationChannel.publish({ address: formatAddress(this.#address), ...reply });
		}
	}
}

function tailOf(func: FuncName, data: unknown, { timeoutMs }: CallOptions): string {
	return encodeRequestTail(func, encodePayload(data), timeoutMs);
}

/** True for a refusal that a retry would not change. */
function isRefusal({ code, retryable }: SpockError): boolean {
	return !retryable && !UNKNOWN_OUTCOMES.includes(code);
}

/** A sidecar has accepted these data. They count even if later data were refused in the meantime. */
function accept(wanted: Wanted, data: RegisterServiceData, word: number): void {
	if (word < wanted.acceptedWord) return;
	const isLast = wanted.word <= word;
	wanted.accepted = data;
	wanted.acceptedWord = word;
	if (isLast) wantAccepted(wanted);
}

/** Goes back to the data that were accepted last. */
function wantAccepted(wanted: Wanted): void {
	wanted.data = wanted.accepted;
	wanted.word = wanted.acceptedWord;
}

/** True unless the sidecar is known to have the app's latest data. */
function isOpen({ phase, data, accepted, last }: Wanted): boolean {
	return phase !== 'kept' || last.state !== 'registered' || data !== accepted;
}
