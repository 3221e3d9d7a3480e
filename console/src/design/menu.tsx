import { Ellipsis } from "lucide";
import { render } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon, type Picture } from "./icon.js";
import "./menu.css";

export interface MenuItem {
  label: string;
  icon: Picture;
  onSelect: () => void;
  isDanger?: boolean;
  isDisabled?: boolean;
}

/** A button that opens a list of actions. ↑ and ↓ go through it, Escape and a click elsewhere close it. */
export function Menu({
  label,
  items,
  isReachable = true,
}: {
  label: string;
  items: () => readonly MenuItem[];
  /** Whether Tab goes to it. */
  isReachable?: boolean;
}) {
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  return (
    <>
      <button
        ref={button}
        class="quiet square menu-button"
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-label={label}
        title="Actions"
        tabIndex={isReachable ? undefined : -1}
        onClick={(event) => {
          event.stopPropagation();
          setOpen(!isOpen);
        }}
      >
        <Icon of={Ellipsis} />
      </button>
      {isOpen && (
        <MenuList
          label={label}
          items={items()}
          button={button}
          onClose={() => {
            setOpen(false);
          }}
        />
      )}
    </>
  );
}

interface MenuListProps {
  label: string;
  items: readonly MenuItem[];
  button: { current: HTMLButtonElement | null };
  onClose: () => void;
}

/** The list of an open menu, at the end of the page: where the button is, it would be part of a row's text. */
function MenuList(props: MenuListProps) {
  const place = useRef<HTMLElement>(undefined);
  useLayoutEffect(() => {
    const element = document.createElement("div");
    (props.button.current?.closest("main") ?? document.body).append(element);
    place.current = element;
    return () => {
      render(null, element);
      element.remove();
    };
  }, []);
  useLayoutEffect(() => {
    if (place.current !== undefined) render(<OpenMenu {...props} />, place.current);
  });
  return null;
}

function OpenMenu({ label, items, button, onClose }: MenuListProps) {
  const list = useRef<HTMLDivElement>(null);

  useLayoutEffect(() => {
    const element = list.current;
    if (element === null || button.current === null) return;
    element.showPopover();
    place(element, button.current.getBoundingClientRect());
    itemsOf(element)[0]?.focus();
    const onToggle = (event: Event) => {
      if ((event as ToggleEvent).newState === "closed") onClose();
    };
    element.addEventListener("toggle", onToggle);
    return () => {
      element.removeEventListener("toggle", onToggle);
    };
  }, []);

  return (
    <div
      ref={list}
      class="menu"
      popover="auto"
      role="menu"
      aria-label={label}
      onClick={(event) => {
        event.stopPropagation();
      }}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === "Tab" || event.key === "Escape") {
          event.preventDefault();
          onClose();
          button.current?.focus();
          return;
        }
        move(event);
      }}
    >
      {items.map((item) => (
        <button
          key={item.label}
          role="menuitem"
          class={item.isDanger === true ? "danger" : ""}
          disabled={item.isDisabled === true}
          tabIndex={-1}
          onClick={() => {
            onClose();
            button.current?.focus();
            item.onSelect();
          }}
        >
          <Icon of={item.icon} />
          {item.label}
        </button>
      ))}
    </div>
  );
}

function itemsOf(list: HTMLElement): HTMLButtonElement[] {
  return [...list.querySelectorAll<HTMLButtonElement>("[role=menuitem]:not(:disabled)")];
}

/** Below the button, or above it where there is no room; within the window. */
function place(list: HTMLElement, at: DOMRect): void {
  const { width, height } = list.getBoundingClientRect();
  const below = at.bottom + 4 + height <= innerHeight;
  list.style.top = `${below ? at.bottom + 4 : Math.max(4, at.top - 4 - height)}px`;
  list.style.left = `${Math.max(4, Math.min(at.right - width, innerWidth - width - 4))}px`;
}

function move(event: KeyboardEvent): void {
  const items = itemsOf(event.currentTarget as HTMLElement);
  const index = items.findIndex((item) => item === document.activeElement);
  const next = {
    ArrowDown: items[(index + 1) % items.length],
    ArrowUp: items.at(index - 1),
    Home: items[0],
    End: items.at(-1),
  }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}
