/** What a command that stands for another one hears of; everything else that a process can be sent cannot be caught. */
const RELAYED: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH'];

/** Signals to this process, told to one receiver after another, so that none is lost between two of them. */
export class SignalRelay {
	/** Told of each signal from now on. */
	receiver: (signal: NodeJS.Signals) => void;
	readonly #listener = (signal: NodeJS.Signals): void => this.receiver(signal);

	constructor(receiver: (signal: NodeJS.Signals) => void) {
		this.receiver = receiver;
		for (const signal of RELAYED) process.on(signal, this.#listener);
	}

	/** Signals do again what they do by default. */
	close(): void {
		for (const signal of RELAYED) process.off(signal, this.#listener);
	}
}
