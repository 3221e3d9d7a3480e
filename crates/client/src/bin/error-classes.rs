//! Prints the package's error classes as TypeScript: `js/core/errors.ts`, part of the build.

use std::fmt::Write;
use std::io;

use sandpipe_client::error::CLASSES;
use sandpipe_client::error::{ErrorClass, ErrorField};

/// What does not depend on the classes.
const BASE: &str = r#"/** What an error carries beside its message. */
export interface SandpipeErrorDetails {
  /** What to do about it. The message ends with it, too. */
  hint?: string | undefined;
  /** What brought it about. */
  cause?: unknown;
}

/** In the global symbol registry, so that every copy of the package knows the same one. */
const brand = Symbol.for("sandpipe.error");

/** The base of every error that this package throws by itself. */
export class SandpipeError extends Error {
  override readonly name: string = "SandpipeError";
  /** What went wrong, for a program to tell apart. */
  readonly code: SandpipeErrorCode;
  /** What to do about it. */
  readonly hint?: string;

  constructor(code: SandpipeErrorCode, message: string, details: SandpipeErrorDetails = {}) {
    super(message, "cause" in details ? { cause: details.cause } : undefined);
    this.code = code;
    if (details.hint !== undefined) this.hint = details.hint;
    Object.defineProperty(this, brand, { value: true });
  }
}

/**
 * Whether `error` is a {@link SandpipeError}, of the given code if there is one. Unlike
 * `instanceof` it also knows the errors of another copy of the package. `error.code` narrows it to a class.
 *
 * @example
 * if (isSandpipeError(error) && error.code === "timeout") console.log(error.output);
 */
export function isSandpipeError<Code extends SandpipeErrorCode>(
  error: unknown,
  code: Code,
): error is SandpipeErrors[Code];
export function isSandpipeError(error: unknown): error is SandpipeErrors[SandpipeErrorCode];
export function isSandpipeError(error: unknown, code?: SandpipeErrorCode): boolean {
  if (typeof error !== "object" || error === null) return false;
  const { [brand]: branded, code: actual } = error as { [brand]?: unknown; code?: unknown };
  return branded === true && (code === undefined || actual === code);
}

/** How a stopped command ended. */
export type StoppedDetails = ConstructorParameters<typeof InterruptedError>[1];
"#;

fn main() -> io::Result<()> {
    let mut file = String::new();
    print(&mut file).map_err(io::Error::other)?;
    io::Write::write_all(&mut io::stdout(), file.as_bytes())
}

fn print(file: &mut String) -> std::fmt::Result {
    writeln!(file, "import type {{ BackgroundErrorReason }} from \"./sandpipe.js\";\n")?;
    writeln!(file, "/**\n * The machine-readable name of what went wrong:\n *")?;
    for class in CLASSES {
        let codes: Vec<_> = codes(class).map(|code| format!("`{code}`")).collect();
        writeln!(file, " * - {}: {{@link {}}}", codes.join(", "), class.class)?;
    }
    writeln!(file, " */\nexport type SandpipeErrorCode = keyof SandpipeErrors;\n")?;
    writeln!(file, "/** The class of each {{@link SandpipeErrorCode}}. */")?;
    writeln!(file, "export interface SandpipeErrors {{")?;
    for class in CLASSES {
        for code in codes(class) {
            writeln!(file, "  {code}: {};", class.class)?;
        }
    }
    writeln!(file, "}}\n\n{BASE}")?;
    CLASSES.iter().try_for_each(|class| print_class(file, class))
}

fn print_class(file: &mut String, class: &ErrorClass) -> std::fmt::Result {
    let ErrorClass { class: name, code, fields, .. } = class;
    print_docs(file, "", class.docs)?;
    writeln!(file, "export class {name} extends SandpipeError {{")?;
    writeln!(file, "  override readonly name = \"{}\";", class.name)?;
    match class.other_code {
        Some((other, _)) => writeln!(file, "  override readonly code: \"{code}\" | \"{other}\";")?,
        None => writeln!(file, "  override readonly code = \"{code}\";")?,
    }
    for field in *fields {
        print_docs(file, "  ", field.docs)?;
        let ErrorField { name, typescript, .. } = field;
        let mark = if field.is_optional { "?" } else { "" };
        writeln!(file, "  readonly {name}{mark}: {typescript};")?;
    }
    let types: Vec<_> = fields.iter().map(type_of).collect();
    let details = if types.is_empty() {
        "details?: SandpipeErrorDetails".to_owned()
    } else {
        format!("details: SandpipeErrorDetails & {{ {} }}", types.join("; "))
    };
    writeln!(file, "\n  constructor(message: string, {details}) {{")?;
    match class.other_code {
        Some((other, test)) => {
            writeln!(file, "    const code = {test} ? \"{other}\" : \"{code}\";")?;
            writeln!(file, "    super(code, message, details);\n    this.code = code;")?;
        }
        None => writeln!(file, "    super(\"{code}\", message, details);")?,
    }
    for ErrorField { name, is_optional, .. } in *fields {
        let condition = if *is_optional {
            format!("if (details.{name} !== undefined) ")
        } else {
            String::new()
        };
        writeln!(file, "    {condition}this.{name} = details.{name};")?;
    }
    writeln!(file, "  }}\n}}\n")
}

fn codes(class: &ErrorClass) -> impl Iterator<Item = &'static str> {
    [class.code].into_iter().chain(class.other_code.map(|(code, _)| code))
}

/// As a constructor takes it.
fn type_of(ErrorField { name, typescript, is_optional, .. }: &ErrorField) -> String {
    if *is_optional {
        format!("{name}?: {typescript} | undefined")
    } else {
        format!("{name}: {typescript}")
    }
}

fn print_docs(file: &mut String, indent: &str, docs: &[&str]) -> std::fmt::Result {
    if let [line] = docs {
        return writeln!(file, "{indent}/**{line} */");
    }
    writeln!(file, "{indent}/**")?;
    docs.iter().try_for_each(|line| writeln!(file, "{indent} *{line}"))?;
    writeln!(file, "{indent} */")
}
