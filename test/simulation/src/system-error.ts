/** An error as the kernel's look in Node. */
export function systemError(code: string, syscall: string): NodeJS.ErrnoException {
	return Object.assign(new Error(`${syscall} ${code}`), { code, syscall });
}
