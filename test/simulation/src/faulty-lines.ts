import type { LineFault } from './injection.ts';

/** Applies a fault to the lines of a stream, wherever that is cut. The bytes of a line go on when the whole line is there. */
export function faultyLines(fault: LineFault): (bytes: Buffer) => Buffer {
	let rest = '';
	return (bytes) => {
		const lines = (rest + bytes.toString('latin1')).split('\n');
		rest = lines.pop() ?? '';
		const changed = lines.flatMap((line) => fault(line)).map((line) => `${line}\n`);
		return Buffer.from(changed.join(''), 'latin1');
	};
}

/** Lines of this form are lost. */
export function lost(form: RegExp): () => LineFault {
	return () => (line) => (form.test(line) ? [] : [line]);
}

/** Of the lines of this form in a stream each `count`-th is lost. */
export function lostEvery(count: number, form: RegExp): () => LineFault {
	return () => {
		let seen = 0;
		return (line) => (form.test(line) && ++seen % count === 0 ? [] : [line]);
	};
}

/** Lines of this form come twice. */
export function doubled(form: RegExp): () => LineFault {
	return () => (line) => (form.test(line) ? [line, line] : [line]);
}

/** The first of two lines of this form comes after the second. */
export function reordered(form: RegExp): () => LineFault {
	return () => {
		let first: string | undefined;
		return (line) => {
			if (!form.test(line)) return [line];
			const before = first;
			first = before === undefined ? line : undefined;
			return before === undefined ? [] : [line, before];
		};
	};
}

/** A part of each line becomes another text. */
export function replaced(part: RegExp, text: string): () => LineFault {
	return () => (line) => [line.replace(part, text)];
}

/** Two replies of this form, one after the other, exchange their ids. */
export function exchanged(form: RegExp): () => LineFault {
	const id = /^\{"id":\d+/;
	return () => {
		let first: string | undefined;
		return (line) => {
			if (!form.test(line)) return [line];
			const before = first;
			first = before === undefined ? line : undefined;
			if (before === undefined) return [];
			const [one = '', other = ''] = [before, line].map((text) => id.exec(text)?.[0]);
			return [before.replace(id, other), line.replace(id, one)];
		};
	};
}
